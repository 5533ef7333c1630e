package glob

// text is what patterns and names may be held in.
type text interface{ ~string | ~[]byte }

// Match reports whether name matches pattern as a whole.
func Match[P, N text](pattern P, name N) bool {
	return match(pattern, name, false)
}

// MatchFold is Match with ASCII letters equal in upper and lower case.
func MatchFold[P, N text](pattern P, name N) bool {
	return match(pattern, name, true)
}

// match walks both texts once and remembers the last star. A mismatch lets
// that star take one more byte; earlier stars need no second try, since the
// last one can take whatever they could.
func match[P, N text](pattern P, name N, fold bool) bool {
	const noStar = -1
	p, n := 0, 0
	starP, starN := noStar, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				p++
				starP, starN = p, n
				continue
			}
			if next, ok := matchByte(pattern, p, name[n], fold); ok {
				p = next
				n++
				continue
			}
		}
		if starP == noStar {
			return false
		}
		starN++
		p, n = starP, starN
	}
	if len(name) > 0 {
		for p < len(pattern) && pattern[p] == '*' {
			p++
		}
	}
	return p == len(pattern)
}

// matchByte matches c against the element of pattern at p, which is not a
// star, and returns the position behind that element.
func matchByte[P text](pattern P, p int, c byte, fold bool) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return matchClass(pattern, p+1, c, fold)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, equal(pattern[p], c, fold)
}

// matchClass matches c against the bracket whose content starts at p and
// returns the position behind the closing bracket or the pattern's end.
func matchClass[P text](pattern P, p int, c byte, fold bool) (next int, ok bool) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for p < len(pattern) && pattern[p] != ']' {
		left := len(pattern) - p
		switch {
		case pattern[p] == '\\' && left >= 2:
			// An escaped byte is compared as it is, even when folding.
			found = found || pattern[p+1] == c
			p += 2
		case left >= 3 && pattern[p+1] == '-':
			found = found || inRange(pattern[p], pattern[p+2], c, fold)
			p += 3
		default:
			found = found || equal(pattern[p], c, fold)
			p++
		}
	}
	if p < len(pattern) {
		p++
	}
	return p, found != negated
}

// inRange orders the ends before folding them, as the server does: [Z-a] holds
// no letter once both are lower case.
func inRange(low, high, c byte, fold bool) bool {
	if low > high {
		low, high = high, low
	}
	if fold {
		low, high, c = lower(low), lower(high), lower(c)
	}
	return low <= c && c <= high
}

func equal(a, b byte, fold bool) bool {
	return a == b || fold && lower(a) == lower(b)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
