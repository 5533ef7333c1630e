#include "textflag.h"

// The data is a polynomial over GF(2), its first byte holding the highest powers. A register holds sixteen bytes of it as H*x^64 + L with the
// byte order reversed, so that bit i is the factor of x^i. All constants are remainders modulo P = x^16 + x^12 + x^5 + 1.

// x^128 mod P, x^192 mod P: move L and H over the next sixteen bytes.
DATA fold<>+0(SB)/8, $0xaefc
DATA fold<>+8(SB)/8, $0x650b
GLOBL fold<>(SB), RODATA|NOPTR, $16

// x^64 mod P, and the quotient x^80 / P without its highest term x^64.
DATA reduce<>+0(SB)/8, $0xb861
DATA reduce<>+8(SB)/8, $0x11303471a041b343
GLOBL reduce<>(SB), RODATA|NOPTR, $16

// The sixteen indices from offset 16-r on reverse r bytes and set the others to zero.
DATA reverse<>+0(SB)/8, $0x08090a0b0c0d0e0f
DATA reverse<>+8(SB)/8, $0x0001020304050607
DATA reverse<>+16(SB)/8, $0x8080808080808080
DATA reverse<>+24(SB)/8, $0x8080808080808080
GLOBL reverse<>(SB), RODATA|NOPTR, $32

// func folding(b []byte) uint16
TEXT ·folding(SB), NOSPLIT, $0-26
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX

	// X0 = the first r bytes, 1 to 16, so that whole blocks remain.
	MOVQ  CX, DX
	DECQ  DX
	ANDQ  $15, DX
	INCQ  DX
	LEAQ  reverse<>+16(SB), AX
	SUBQ  DX, AX
	MOVOU (AX), X1
	MOVOU (SI), X0
	PSHUFB X1, X0
	ADDQ  DX, SI
	SUBQ  DX, CX
	JZ    remainder

	MOVOU reverse<>(SB), X2
	MOVOU fold<>(SB), X3

block:
	MOVOU     (SI), X1
	PSHUFB    X2, X1
	MOVO      X0, X4
	PCLMULQDQ $0x00, X3, X4
	PCLMULQDQ $0x11, X3, X0
	PXOR      X4, X1
	PXOR      X1, X0
	ADDQ      $16, SI
	SUBQ      $16, CX
	JNZ       block

remainder:
	// Bring H*x^64 down twice: 128 bits to 80, 80 to 64.
	MOVOU     reduce<>(SB), X3
	MOVO      X0, X1
	PSRLDQ    $8, X1
	PCLMULQDQ $0x00, X3, X1
	MOVQ      X0, X0
	PXOR      X1, X0
	MOVO      X0, X1
	PSRLDQ    $8, X1
	PCLMULQDQ $0x00, X3, X1
	MOVQ      X0, X0
	PXOR      X1, X0

	// The checksum is C*x^16 mod P for the 64 bits C: with the quotient q = C*x^16 / P it is the low 16 bits of q*P (Barrett; exact,
	// because polynomial division knows no carries).
	MOVO      X0, X1
	PCLMULQDQ $0x10, X3, X1
	PSRLDQ    $8, X1
	PXOR      X0, X1
	MOVQ      X1, AX
	MOVQ      AX, BX
	MOVQ      AX, DX
	SHLQ      $5, BX
	SHLQ      $12, DX
	XORQ      BX, AX
	XORQ      DX, AX
	MOVW      AX, ret+24(FP)
	RET
