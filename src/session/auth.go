package session

import (
	"crypto/subtle"

	"mithril/src/resp"
)

const (
	errWrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	errNoPass    = "-ERR AUTH <password> called without any password configured for the default user. " +
		"Are you sure your configuration is correct?\r\n"
	errHelloNoAuth = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH " +
		"<user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n"
	errProtoNumber = "-ERR Protocol version is not an integer or out of range\r\n"
	errProtoRange  = "-NOPROTO unsupported protocol version\r\n"
)

// login checks a user and password. Without a password configured the default user
// takes any, as on a server.
func (s *Session) login(env *Env, user, pass []byte) bool {
	if string(user) != "default" {
		return false
	}
	return env.Password == "" || subtle.ConstantTimeCompare(pass, []byte(env.Password)) == 1
}

// auth answers AUTH [user] password.
func (s *Session) auth(env *Env, c call, dst []byte) []byte {
	user, pass := []byte("default"), c.arg(c.len()-1)
	switch c.len() {
	case 2:
		if env.Password == "" {
			return append(dst, errNoPass...)
		}
	case 3:
		user = c.arg(1)
	default:
		return append(dst, "-ERR syntax error\r\n"...)
	}
	if !s.login(env, user, pass) {
		return append(dst, errWrongPass...)
	}
	s.become(Plain)
	return append(dst, replyOK...)
}

// hello answers HELLO [version [AUTH user password] [SETNAME name]]. Nothing of it takes
// effect unless all of it is right.
func (s *Session) hello(env *Env, c call, dst []byte) []byte {
	proto := s.proto
	next := 1
	if c.len() > 1 {
		v, ok := integer(c.arg(1))
		if !ok {
			return append(dst, errProtoNumber...)
		}
		if v != 2 && v != 3 {
			return append(dst, errProtoRange...)
		}
		proto = resp.Proto(v)
		next = 2
	}
	state := s.state
	var name []byte
	for ; next < c.len(); next++ {
		rest := c.len() - 1 - next
		switch {
		case c.is(next, "auth") && rest >= 2:
			if !s.login(env, c.arg(next+1), c.arg(next+2)) {
				return append(dst, errWrongPass...)
			}
			state = Plain
			next += 2
		case c.is(next, "setname") && rest >= 1:
			name = c.arg(next + 1)
			if !isPlainWord(name) {
				return append(dst, errClientName...)
			}
			next++
		default:
			dst = append(dst, "-ERR Syntax error in HELLO option '"...)
			dst = append(dst, c.arg(next)...)
			return append(dst, "'\r\n"...)
		}
	}
	if state == Fresh {
		return append(dst, errHelloNoAuth...)
	}
	s.become(state)
	if name != nil {
		s.setName(name)
	}
	s.proto = proto
	return s.appendHello(env, dst)
}

// appendHello describes the proxy as the server it stands for.
func (s *Session) appendHello(env *Env, dst []byte) []byte {
	dst = resp.AppendMap(dst, s.proto, 7)
	dst = appendPair(dst, "server", env.Server.Name)
	dst = appendPair(dst, "version", env.Server.Version)
	dst = resp.AppendInt(resp.AppendBulkString(dst, "proto"), int64(s.proto))
	dst = resp.AppendInt(resp.AppendBulkString(dst, "id"), int64(s.ID))
	dst = appendPair(dst, "mode", "cluster")
	dst = appendPair(dst, "role", "master")
	return resp.AppendArray(resp.AppendBulkString(dst, "modules"), 0)
}

func appendPair(dst []byte, key, value string) []byte {
	return resp.AppendBulkString(resp.AppendBulkString(dst, key), value)
}

// reset answers RESET: everything a session has set is as on a new connection.
func (s *Session) reset(env *Env, _ call, dst []byte) []byte {
	s.proto = resp.RESP2
	s.name = s.name[:0]
	if env.Password != "" {
		s.become(Fresh)
	}
	return append(dst, "+RESET\r\n"...)
}
