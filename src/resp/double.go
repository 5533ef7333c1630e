package resp

import (
	"math"
	"strconv"
)

// AppendDouble appends a double; in RESP2 it is a string. The text is that of Redis 7.2 and later and of Valkey
// (Redis 7.0 prints 17 digits), but for the few values whose shortest digits those do not find.
func AppendDouble(dst []byte, p Proto, v float64) []byte {
	var buf [40]byte
	text := appendDoubleText(buf[:0], v)
	if p == RESP3 {
		return append(append(append(dst, ','), text...), '\r', '\n')
	}
	return AppendBulk(dst, text)
}

// The servers' choice between plain and scientific notation, in decimal digits of the shortest text that
// reads back as the same value.
const (
	doubleZerosMax    = 7 // a number of n digits is plain below 10^(n+7)
	doubleFractionMin = 7 // fewer fractional digits than this are always plain
	doubleFractionExp = 4 // and any number of them is when the exponent is below this
)

func appendDoubleText(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	case v == math.Trunc(v) && math.Abs(v) <= 1<<62 && !(v == 0 && math.Signbit(v)):
		return strconv.AppendInt(dst, int64(v), 10)
	}
	if math.Signbit(v) {
		dst = append(dst, '-')
	}
	var buf [32]byte
	digits, exponent := shortestDigits(buf[:], math.Abs(v))
	point := exponent + 1 // digits before the decimal point
	fraction := len(digits) - point
	magnitude := max(exponent, -exponent)
	switch {
	case fraction <= 0 && magnitude < len(digits)+doubleZerosMax:
		dst = append(dst, digits...)
		return appendZeros(dst, -fraction)
	case fraction > 0 && (fraction < doubleFractionMin || magnitude < doubleFractionExp):
		if point > 0 {
			return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
		}
		dst = appendZeros(append(dst, '0', '.'), -point)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, 'e')
	if exponent >= 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}

// shortestDigits returns the fewest digits d and the exponent e such that d[0].d[1]d[2]... x 10^e reads back
// as v, which is not negative. buf holds the digits.
func shortestDigits(buf []byte, v float64) (digits []byte, exponent int) {
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, 64) // d.ddde±dd or de±dd
	mark := len(text) - 1
	for text[mark] != 'e' {
		mark--
	}
	for _, c := range text[mark+2:] {
		exponent = exponent*10 + int(c-'0')
	}
	if text[mark+1] == '-' {
		exponent = -exponent
	}
	if mark == 1 {
		return text[:1], exponent
	}
	text[1] = text[0] // over the point
	return text[1:mark], exponent
}

func appendZeros(dst []byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, '0')
	}
	return dst
}
