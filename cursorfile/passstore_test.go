package cursorfile_test

import (
	"weedlc/cursorfile"
	"weedlc/pass"
)

var _ pass.Store = (*cursorfile.Store)(nil)
