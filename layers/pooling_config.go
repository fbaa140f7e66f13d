package layers

// amendStrides writes omitted strides as the window, which is their default, as Keras does.
func amendStrides(keys map[string]any) error {
	if keys["strides"] == nil {
		keys["strides"] = keys["pool_size"]
	}
	return nil
}

// AmendConfig writes missing Strides as the window.
func (l *MaxPooling1D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }

// AmendConfig writes missing Strides as the window.
func (l *MaxPooling2D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }

// AmendConfig writes missing Strides as the window.
func (l *MaxPooling3D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }

// AmendConfig writes missing Strides as the window.
func (l *AveragePooling1D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }

// AmendConfig writes missing Strides as the window.
func (l *AveragePooling2D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }

// AmendConfig writes missing Strides as the window.
func (l *AveragePooling3D) AmendConfig(keys map[string]any) error { return amendStrides(keys) }
