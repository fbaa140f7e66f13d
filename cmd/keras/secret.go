package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/distribute/collective"
)

func newSecret() *cobra.Command {
	return &cobra.Command{
		Use:   "secret",
		Short: "Make a secret for the workers of a job",
		Long: "Print 32 random bytes as 64 hexadecimal digits: the secret by which workers on several machines know each other. All of a job get the\n" +
			"same, in a file that only its owner can read (fit --secret-file) or in the variable " + secretVariable + ". keras launch makes one by itself.",
		Example: "  keras secret > secret; chmod 600 secret\n  keras fit model.keras --x x.npy --y y.npy --strategy multiworker --secret-file secret --output trained.keras",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), collective.NewSecret())
			return err
		},
	}
}
