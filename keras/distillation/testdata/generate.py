"""Writes distillation.json and weights.weights.h5: students that Keras's Distiller trains. Run from here with Keras 3.15.1 and JAX: TensorFlow's gradient of
the cross-entropy takes for granted that targets add up to 1, as logits do not. KLDivergence is given as an object: its name makes Keras compare
logits, not probabilities."""
import json, os
os.environ["KERAS_BACKEND"]="jax"
import numpy as np, keras
from keras.distillation import *
def build(width, seed, drop=False, bn=False, outs=1, prefix=""):
    rng=np.random.default_rng(seed)
    x=keras.Input((6,),name="x")
    h=keras.layers.Dense(width,activation="tanh",name=prefix+"hidden")(x)
    if bn: h=keras.layers.BatchNormalization(name=prefix+"norm")(h)
    f=keras.layers.Dense(5,name=prefix+"feature")(h)
    o=[keras.layers.Dense(3,name=prefix+f"logits{i}")(f) for i in range(outs)]
    m=keras.Model(x,o if outs>1 else o[0],name=prefix+"net")
    m.set_weights([rng.normal(0,.5,w.shape).astype("float32") if w.ndim>1 else (np.ones(w.shape,"float32") if i in () else rng.uniform(.1,.5,w.shape).astype("float32")) for i,w in enumerate(m.get_weights())])
    return m
KL=keras.losses.KLDivergence
rng=np.random.default_rng(0)
x=rng.normal(size=(10,6)).astype("float32"); y=rng.integers(0,3,10).astype("int32"); oh=np.eye(3,dtype="float32")[y]
sw=rng.uniform(.2,2,10).astype("float32")
ce=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
cases={
 "logits": dict(losses=lambda: LogitsDistillation(loss=KL()), kw={}),
 "temperature": dict(losses=lambda: LogitsDistillation(temperature=5.0,loss=KL()), kw=dict(student_loss_weight=0.3)),
 "logits_mse": dict(losses=lambda: [LogitsDistillation(temperature=2.0,loss="mse")], kw=dict(distillation_loss_weights=[0.7])),
 "logits_crossentropy": dict(losses=lambda: LogitsDistillation(temperature=4.0,loss=keras.losses.CategoricalCrossentropy(from_logits=True)), kw={}),
 "features": dict(losses=lambda: FeatureDistillation(teacher_layer_name="t_feature",student_layer_name="s_feature"), kw={}),
 "features_cosine": dict(losses=lambda: FeatureDistillation(loss="cosine_similarity",teacher_layer_name="t_feature",student_layer_name="s_feature"), kw={}),
 "features_outputs": dict(losses=lambda: FeatureDistillation(loss="mae"), kw={}),
 "several": dict(losses=lambda: [LogitsDistillation(temperature=3.0,loss=KL()),FeatureDistillation(teacher_layer_name="t_feature",student_layer_name="s_feature")], kw=dict(distillation_loss_weights=[1.0,0.5],student_loss_weight=0.4)),
 "student_alone": dict(losses=lambda: LogitsDistillation(loss=KL()), kw=dict(student_loss_weight=1.0)),
 "teacher_alone": dict(losses=lambda: LogitsDistillation(loss=KL()), kw=dict(student_loss_weight=0.0)),
 "norm": dict(losses=lambda: [LogitsDistillation(loss=KL()),FeatureDistillation(teacher_layer_name="t_feature",student_layer_name="s_feature")], kw={}, bn=True),
 "sample_weight": dict(losses=lambda: LogitsDistillation(loss=KL()), kw={}, sw=True),
 "two_outputs": dict(losses=lambda: LogitsDistillation(loss=[KL(),None]), kw=dict(student_loss_weight=0.0), outs=2),
}
out={"x":x.tolist(),"y":y.tolist(),"sample_weight":sw.tolist(),"cases":{}}
for name,c in cases.items():
    t=build(5,1,bn=c.get("bn"),outs=c.get("outs",1),prefix="t_"); s=build(3,2,bn=c.get("bn"),outs=c.get("outs",1),prefix="s_")
    tw=[w.tolist() for w in t.get_weights()]; sw0=[w.tolist() for w in s.get_weights()]
    d=Distiller(t,s,c["losses"](),**c["kw"])
    l=ce() if c.get("outs",1)==1 else [ce(),ce()]
    d.compile(optimizer=keras.optimizers.SGD(0.1,momentum=0.9),loss=l,metrics=(["accuracy"] if c.get("outs",1)==1 else None), weighted_metrics=(["accuracy"] if c.get("sw") else None))
    yy=y if c.get("outs",1)==1 else [y,y]
    kw=dict(sample_weight=sw) if c.get("sw") else {}
    h=d.fit(x,yy,epochs=2,batch_size=4,shuffle=False,verbose=0,**kw)
    after=[w.tolist() for w in s.get_weights()]
    e=d.evaluate(x,yy,batch_size=4,verbose=0,return_dict=True,**kw)
    p=d.predict(x,batch_size=4,verbose=0)
    out["cases"][name]=dict(teacher=tw,student=sw0,history={k:[float(v) for v in vs] for k,vs in h.history.items()},evaluate={k:float(v) for k,v in e.items()},
      weights=after, teacher_after=[w.tolist() for w in t.get_weights()]==tw,predict=(p[0] if isinstance(p,list) else p).tolist())
    print(name,list(h.history),{k:v for k,v in e.items()}, "teacher same",out["cases"][name]["teacher_after"])
    if name == "several":
        d.save_weights(f"weights.weights.h5")
json.dump(out,open("distillation.json","w"))
