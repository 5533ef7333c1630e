package sys

const childEnv = "MITHRIL_SYS_TEST_CHILD"

func runChild(string) int { return 0 }
