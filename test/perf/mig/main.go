// Command mig replays requests for MIG instances under several policies and prints how
// many each accepts. Requests arrive and leave; none waits and none is moved.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"wastenot.dev/test/perf/mig/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "mig:", err)
		os.Exit(1)
	}
}

// run does what the arguments say and prints the table to out.
func run(ctx context.Context, args []string, out, usage io.Writer) error {
	opts, err := parse(args, usage)
	if err != nil {
		return err
	}
	lines, err := opts.runAll(ctx)
	if err != nil {
		return err
	}
	return table.Print(out, lines)
}
