package main

import (
	"slices"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
)

// applicationNames lists the image networks.
func applicationNames() []string {
	names := make([]string, 0, len(imageNetworks))
	for name := range imageNetworks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// plain makes a constructor of one that takes options of its own.
func plain[O any](build func(O, ...keras.Option) (*keras.Model, error)) func() (*keras.Model, error) {
	return func() (*keras.Model, error) { var o O; return build(o) }
}

var imageNetworks = map[string]func() (*keras.Model, error){
	"ConvNeXtBase": plain(applications.NewConvNeXtBase), "ConvNeXtLarge": plain(applications.NewConvNeXtLarge), "ConvNeXtSmall": plain(applications.NewConvNeXtSmall),
	"ConvNeXtTiny": plain(applications.NewConvNeXtTiny), "ConvNeXtXLarge": plain(applications.NewConvNeXtXLarge),
	"DenseNet121": plain(applications.NewDenseNet121), "DenseNet169": plain(applications.NewDenseNet169), "DenseNet201": plain(applications.NewDenseNet201),
	"EfficientNetB0": plain(applications.NewEfficientNetB0), "EfficientNetB1": plain(applications.NewEfficientNetB1), "EfficientNetB2": plain(applications.NewEfficientNetB2),
	"EfficientNetB3": plain(applications.NewEfficientNetB3), "EfficientNetB4": plain(applications.NewEfficientNetB4), "EfficientNetB5": plain(applications.NewEfficientNetB5),
	"EfficientNetB6": plain(applications.NewEfficientNetB6), "EfficientNetB7": plain(applications.NewEfficientNetB7),
	"EfficientNetV2B0": plain(applications.NewEfficientNetV2B0), "EfficientNetV2B1": plain(applications.NewEfficientNetV2B1), "EfficientNetV2B2": plain(applications.NewEfficientNetV2B2),
	"EfficientNetV2B3": plain(applications.NewEfficientNetV2B3), "EfficientNetV2S": plain(applications.NewEfficientNetV2S), "EfficientNetV2M": plain(applications.NewEfficientNetV2M),
	"EfficientNetV2L": plain(applications.NewEfficientNetV2L),
	"InceptionV3":     plain(applications.NewInceptionV3), "InceptionResNetV2": plain(applications.NewInceptionResNetV2),
	"MobileNet": plain(applications.NewMobileNet), "MobileNetV2": plain(applications.NewMobileNetV2),
	"MobileNetV3Large": plain(applications.NewMobileNetV3Large), "MobileNetV3Small": plain(applications.NewMobileNetV3Small),
	"NASNetLarge": plain(applications.NewNASNetLarge), "NASNetMobile": plain(applications.NewNASNetMobile),
	"ResNet50": plain(applications.NewResNet50), "ResNet101": plain(applications.NewResNet101), "ResNet152": plain(applications.NewResNet152),
	"ResNet50V2": plain(applications.NewResNet50V2), "ResNet101V2": plain(applications.NewResNet101V2), "ResNet152V2": plain(applications.NewResNet152V2),
	"VGG16": plain(applications.NewVGG16), "VGG19": plain(applications.NewVGG19), "Xception": plain(applications.NewXception),
}
