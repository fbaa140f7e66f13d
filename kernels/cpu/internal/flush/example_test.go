package flush_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
)

func ExampleEnterZero() {
	section := flush.EnterZero()
	section.Leave()
	fmt.Println(flush.Current() == flush.Default)
	// Output: true
}

func ExampleRest() {
	defer flush.EnterZero().Leave()
	rest := flush.Rest()
	fmt.Println(flush.Current() == flush.Default) // a good time to sleep
	rest.End()
	// Output: true
}
