"""Models inside models, saved by Keras 2 as .h5 and as .keras: python legacy.py FOLDER. Needs tf_keras; the cases go to FOLDER_h5 and FOLDER_keras."""

import json
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tf_keras as keras

L = keras.layers
out = sys.argv[1]
rng=np.random.default_rng(3); f32=np.float32
x4=rng.standard_normal((6,4)).astype(f32)
def models():
    a,b=keras.Input((4,),name='in0'),keras.Input((4,),name='in1')
    inner=keras.Model([a,b],[L.Dense(3,name='d')(a),L.Add()([a,b])],name='inner')
    o,p=inner([b,a])
    yield 'two_results',keras.Model([a,b],[L.Dense(2)(o),p])
    inner=keras.Sequential([L.Dense(3,activation='tanh'),L.Dense(2)])
    yield 'shared_late',keras.Model([a,b],L.Concatenate()([inner(a),inner(b)]))
    inner=keras.Sequential([keras.Input((4,)),L.Dense(3,activation='tanh'),L.Dense(2)])
    yield 'shared',keras.Model([a,b],L.Concatenate()([inner(a),inner(b)]))
    yield 'shared_out',keras.Model([a,b],[inner(a),inner(b)])
    inner=keras.Sequential([L.Dense(3,activation='tanh',input_shape=(4,)),L.Dense(2)])
    yield 'shape_of_layer',keras.Model(a,inner(a))
    yield 'stack',keras.Sequential([keras.Input((4,),name='in0'),keras.Sequential([L.Dense(3),L.BatchNormalization()]),L.Dense(2)])
    i=keras.Input((4,)); f=keras.Model(i,L.Dense(4,activation='relu')(i),name='f')
    yield 'functional_twice',keras.Model(a,L.Dense(2)(f(f(a))))
    yield 'output_of_inner',keras.Model(a,f(f(a)))
    deep=keras.Sequential([keras.Input((4,)),f,keras.Sequential([keras.Input((4,)),L.Dense(3)])],name='deep')
    yield 'deep',keras.Model(a,L.Dense(1)(deep(a)))
    td=keras.Input((5,4),name='in0'); g=keras.Sequential([keras.Input((4,)),L.Dense(3),L.LayerNormalization()])
    yield 'time',keras.Model(td,L.LSTM(2)(L.TimeDistributed(g)(td)))
    d=keras.Model({'u':a,'v':b},{'s':L.Dense(2,name='s')(a),'t':L.Add(name='t')([a,b])},name='dicts')
    r=d({'u':b,'v':a})
    yield 'dicts',keras.Model([a,b],L.Concatenate()([r['s'],r['t']]))
    m=keras.Model(a,L.Dense(2)(f(a))); m.compile('adam','mse'); m.fit(x4,rng.standard_normal((6,2)),verbose=0,epochs=2)
    yield 'compiled',m
    yield 'operations',keras.Model(a,f(tf.nn.relu(a+1.0)))
for ext in ('h5','keras'):
  for name,m in models():
    for v in m.weights:
        if v.dtype==tf.float32:
            w=v.numpy()+0.1*rng.standard_normal(v.shape).astype(f32)
            v.assign(np.abs(w)+.05 if 'variance' in v.name else w)
    d=f'{out}_{ext}/cases/legacy_{name}'; os.makedirs(d,exist_ok=True)
    try:
        m.save(out+'.'+ext); os.replace(out+'.'+ext,d+'/model.keras')
    except Exception as e: print(name,'cannot be saved',e); continue
    x={'in0':x4,'in1':x4[::-1].copy()}
    x={t.name.split(':')[0]:(rng.standard_normal((6,5,4)).astype(f32) if len(t.shape)==3 else x[t.name.split(':')[0]]) for t in m.inputs}
    y=tf.nest.flatten(m(list(x.values()) if len(x)>1 else x['in0']))
    y=[v.numpy() for v in y]
    np.savez(d+'/in.npz',**x); np.savez(d+'/out.npz',**({'output':y[0]} if len(y)==1 else {f'{n}':v for n,v in zip(m.output_names,y)}))
    json.dump({'name':'legacy_'+name,'kind':'probe','label':'legacy '+name,'command':'predict','test':'probes.py','backend':'tensorflow','batch_size':32},open(d+'/case.json','w'))
