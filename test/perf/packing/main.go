// Command packing replays arrivals of pods under several policies and prints how much of
// the devices each allocates, beside what was published. Protocol and data are those of
// "Beware of Fragmentation" (USENIX ATC'23); see package trace for the files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"wastenot.dev/test/perf/packing/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "packing:", err)
		os.Exit(1)
	}
}

// run does what the arguments say and prints the table to out.
func run(ctx context.Context, args []string, out, usage io.Writer) error {
	opts, err := parse(args, usage)
	if err != nil {
		return err
	}
	campaign, err := load(opts)
	if err != nil {
		return err
	}
	if opts.faults > 0 {
		return campaign.printFaults(ctx, out)
	}
	lines, err := campaign.run(ctx)
	if err != nil {
		return err
	}
	return table.Print(out, lines)
}
