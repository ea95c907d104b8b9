// Package ruletest runs unit tests of lifecycle rules: a YAML file has rules, a
// clock and objects, and says of each object what a pass is to do with it.
//
// It reads no files by itself and knows no clock: both are handed in.
package ruletest
