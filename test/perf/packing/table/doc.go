// Package table prints what policies allocated, beside what was published.
//
// It provides one line for each workload and policy, over all seeds. It runs nothing and
// reads no files. What is not known, such as a result that nobody published or a demand
// that was never reached, is shown as "-" and never as 0.
//
// It is called by the command. Start reading at Line and Print.
package table
