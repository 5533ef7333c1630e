// Prints, as JSON, the keys that the SCAN loops of clients find behind a port, by the client's
// name:
//
//	node scan.js PORT
"use strict";

const Redis = require("ioredis");
const { createClient, createCluster } = require("@redis/client");

const count = 1000;

// ioredis reads a stream of batches from a connection.
async function* ioredisKeys(connection) {
  for await (const batch of connection.scanStream({ count })) {
    yield* batch;
  }
}

async function* ioredis(port) {
  const client = new Redis(port);
  yield* ioredisKeys(client);
  await client.quit();
}

async function* ioredisCluster(port) {
  const cluster = new Redis.Cluster([{ host: "127.0.0.1", port }]);
  await cluster.ping();
  for (const node of cluster.nodes("master")) {
    yield* ioredisKeys(node);
  }
  await cluster.quit();
}

// node-redis has an iterator over batches.
async function* nodeRedisKeys(client) {
  for await (const batch of client.scanIterator({ COUNT: count })) {
    yield* batch;
  }
}

function nodeRedis(RESP) {
  return async function* (port) {
    const client = await createClient({ url: `redis://127.0.0.1:${port}`, RESP }).connect();
    yield* nodeRedisKeys(client);
    await client.close();
  };
}

async function* nodeRedisCluster(port) {
  const cluster = await createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] }).connect();
  for (const master of cluster.masters) {
    yield* nodeRedisKeys(await cluster.nodeClient(master));
  }
  await cluster.close();
}

const loops = {
  "ioredis": ioredis,
  "ioredis cluster": ioredisCluster,
  "node-redis RESP2": nodeRedis(2),
  "node-redis RESP3": nodeRedis(3),
  "node-redis cluster": nodeRedisCluster,
};

async function main(port) {
  const found = {};
  for (const [name, loop] of Object.entries(loops)) {
    found[name] = [];
    for await (const key of loop(port)) {
      found[name].push(key);
    }
  }
  process.stdout.write(JSON.stringify(found));
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
