package callbacks

// What tests of the outside look at.
var (
	NewBarAt       = newProgbar
	NewPacedBarAt  = newBar
	OnTerminal     = onTerminal
	NewLoggerAt    = newLoggerAt
	FormatTemplate = formatTemplate
	FormatValue    = formatValue
)

// SetColumns sets the width of the terminal.
func (p *Progbar) SetColumns(n int) { p.columns = func() int { return n } }

// Wait is the number of epochs without an improvement.
func (c *EarlyStopping) Wait() int { return c.wait }

// Wait is the number of epochs without an improvement.
func (c *ReduceLROnPlateau) Wait() int { return c.wait }

// CooldownLeft is the number of epochs that are not monitored.
func (c *ReduceLROnPlateau) CooldownLeft() int { return c.cooldown }
