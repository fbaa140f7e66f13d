package callbacks

// What tests of the outside look at.
var (
	NewBarAt       = newProgbar
	NewLoggerAt    = newLoggerAt
	FormatTemplate = formatTemplate
	FormatValue    = formatValue
)

// Wait is the number of epochs without an improvement.
func (c *EarlyStopping) Wait() int { return c.wait }

// Wait is the number of epochs without an improvement.
func (c *ReduceLROnPlateau) Wait() int { return c.wait }

// CooldownLeft is the number of epochs that are not looked at.
func (c *ReduceLROnPlateau) CooldownLeft() int { return c.cooldown }
