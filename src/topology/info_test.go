package topology

import "testing"

func bulk(text string) []byte { return encode(false, text) }

var (
	infoRedis  = bulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\ntcp_port:7000\r\n")
	infoValkey = bulk("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n")
)

func TestParseRunID(t *testing.T) {
	for reply, want := range map[string]string{
		string(bulk("# Server\r\nredis_version:7.0.15\r\nrun_id:5c6a\r\ntcp_port:1\r\n")): "5c6a",
		string(infoRedis): "",
		"-NOPERM no\r\n":  "",
	} {
		if got := ParseRunID([]byte(reply)); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}

func TestParseInfo(t *testing.T) {
	for _, c := range []struct {
		reply []byte
		want  Server
	}{
		{infoRedis, Server{"redis", Version{7, 0, 15}, Version{7, 0, 15}}},
		{infoValkey, Server{"valkey", Version{9, 1, 2}, Version{7, 2, 4}}},
		{[]byte("=29\r\ntxt:\r\nredis_version:8.0.2-x\r\n\r\n"), Server{"redis", Version{8, 0, 2}, Version{8, 0, 2}}},
	} {
		if got, err := ParseInfo(c.reply); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.reply, got, err)
		}
	}
	for reply, want := range map[string]string{
		"-NOPERM no\r\n":                   `INFO server: byte 0: the reply is the error "NOPERM no", want a string`,
		string(bulk("nothing")):            "INFO server: no version in it",
		string(bulk("server_name:valkey")): "INFO server: no version in it",
		string(infoRedis) + "x":            "INFO server: byte 74: 1 bytes follow the reply",
	} {
		if _, err := ParseInfo([]byte(reply)); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", reply, err, want)
		}
	}
}

func TestContract_PROTO3_LowestVersion(t *testing.T) {
	valkey := func(minor int) Server { return Server{EngineValkey, Version{9, minor, 0}, Version{7, 2, 4}} }
	redis := func(major int) Server { return Server{EngineRedis, Version{major, 0, 0}, Version{major, 0, 0}} }
	for _, c := range []struct {
		servers []Server
		want    Server
	}{
		{nil, Server{Engine: EngineRedis}},
		{[]Server{redis(8)}, redis(8)},
		{[]Server{redis(8), redis(7), redis(8)}, redis(7)},
		{[]Server{valkey(1), valkey(0)}, valkey(0)},
		{[]Server{valkey(1), redis(8)}, Server{EngineRedis, Version{7, 2, 4}, Version{7, 2, 4}}},
		{[]Server{redis(7), valkey(1)}, Server{EngineRedis, Version{7, 0, 0}, Version{7, 0, 0}}},
	} {
		if got := Lowest(c.servers); got != c.want {
			t.Errorf("%v: %v, want %v", c.servers, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"7.0.15": {7, 0, 15}, "9.1": {9, 1, 0}, "8": {8, 0, 0}, "8.4-rc1": {8, 4, 0}, "255.255.255": {255, 255, 255},
		"": {}, "x": {}, ".1": {}, "99999999999999999999.1": {},
	} {
		if got := ParseVersion(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	ordered := []Version{{}, {0, 0, 1}, {7, 0, 15}, {7, 2, 0}, {9, 0, 0}}
	for i, v := range ordered {
		for j, w := range ordered {
			if got := v.Compare(w); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v against %v: %d", v, w, got)
			}
		}
	}
	if (Version{}).Known() || !ordered[1].Known() || ordered[2].String() != "7.0.15" {
		t.Error("Known or String")
	}
}

func TestParseClusterEpoch(t *testing.T) {
	for reply, want := range map[string]uint64{
		string(bulk("cluster_state:ok\r\ncluster_current_epoch:17\r\ncluster_my_epoch:2\r\n")): 17,
		string(bulk("cluster_my_epoch:2\r\n")):                                                 0,
		string(bulk("cluster_current_epoch:x\r\n")):                                            0,
		"-ERR no\r\n": 0,
		"":            0,
	} {
		if got := ParseClusterEpoch([]byte(reply)); got != want {
			t.Errorf("%q: %d, want %d", reply, got, want)
		}
	}
}
