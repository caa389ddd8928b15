// Package table prints what policies accepted, beside each other.
//
// It provides one line for each geometry, mix, load and policy, over all seeds. It runs
// nothing. It is called by the command. Start reading at Line and Print.
package table
