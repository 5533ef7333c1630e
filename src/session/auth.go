package session

import (
	"crypto/subtle"

	"mithril/src/command"
	"mithril/src/resp"
)

const (
	errWrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	errNoPass    = "-ERR AUTH <password> called without any password configured for the default user. " +
		"Are you sure your configuration is correct?\r\n"
	errHelloNoAuth   = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH " + helloNoAuthRest
	errHelloNoAuth70 = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH " + helloNoAuthRest
	helloNoAuthRest  = "<user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n"
	errProtoNumber   = "-ERR Protocol version is not an integer or out of range\r\n"
	errProtoRange    = "-NOPROTO unsupported protocol version\r\n"
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
		return append(dst, errSyntax...)
	}
	if !s.enter(env, user, pass) {
		return append(dst, errWrongPass...)
	}
	return append(dst, replyOK...)
}

// enter logs the session in, if user and password are right.
func (s *Session) enter(env *Env, user, pass []byte) bool {
	if !s.login(env, user, pass) {
		return false
	}
	s.become(Plain)
	return true
}

// redis70 is the version whose HELLO differs from that of later servers.
var redis70 = command.Version{Engine: "redis", Major: 7, Minor: 0}

// hello answers HELLO [version [AUTH user password] [SETNAME name]]. Servers read all of
// it before any of it takes effect. Redis 7.0 follows each option as it reads it: what
// stands before a fault stays in force.
func (s *Session) hello(env *Env, c call, dst []byte) []byte {
	proto := s.proto
	if c.len() > 1 {
		v, ok := resp.ParseInt(c.arg(1))
		if !ok {
			return append(dst, errProtoNumber...)
		}
		if v != 2 && v != 3 {
			return append(dst, errProtoRange...)
		}
		proto = resp.Proto(v)
	}
	atOnce := env.Table.Version() == redis70
	var user, name int // their arguments, 0 without
	for next := 2; next < c.len(); next++ {
		rest := c.len() - 1 - next
		switch {
		case c.is(next, "auth") && rest >= 2:
			user = next + 1
			next += 2
			if atOnce && !s.enter(env, c.arg(user), c.arg(user+1)) {
				return append(dst, errWrongPass...)
			}
		case c.is(next, "setname") && rest >= 1:
			name = next + 1
			next++
			if !env.isPlainWord(c.arg(name)) {
				return append(dst, errClientName...)
			}
			if atOnce {
				s.setName(env, c.arg(name))
			}
		default:
			return appendErrorAbout(dst, "-ERR Syntax error in HELLO option '", c.arg(next), "'")
		}
	}
	if user != 0 && !s.enter(env, c.arg(user), c.arg(user+1)) {
		return append(dst, errWrongPass...)
	}
	if s.state == Fresh {
		if atOnce {
			return append(dst, errHelloNoAuth70...)
		}
		return append(dst, errHelloNoAuth...)
	}
	if name != 0 {
		s.setName(env, c.arg(name))
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
	s.marks &= markNoEvict
	if env.Table.Version() != redis70 {
		s.marks = 0
	}
	s.speakAgain()
	s.become(Plain)
	if env.Password != "" {
		s.become(Fresh)
	}
	return append(dst, "+RESET\r\n"...)
}
