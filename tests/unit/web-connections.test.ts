/** The page's server beside a program of this machine that opens connections and says nothing. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PageServer, type Site } from "../../bin/web/http.ts";
import type { Reader } from "../../bin/web/live.ts";
import { bounds } from "../../bin/web/wire.ts";

/** A stream that says something at once, so that its head is sent. */
function open(_: unknown, reader: Reader): () => void {
  reader.write("\n");
  return () => {};
}

const asset = { type: "text/html", body: Buffer.from("a door") };
const site = {
  live: { streams: 0, open },
  door: { page: asset, program: asset },
  assets: new Map(),
  answers: new Map(),
  act: null,
  onTrouble: () => {},
} as unknown as Site;

let server: PageServer;
let idle: Socket[];

beforeEach(async () => {
  server = new PageServer(site, () => 0);
  await server.listen(0);
  idle = [];
});

afterEach(async () => {
  for (const socket of idle) socket.destroy();
  await server.close();
});

async function fill(): Promise<void> {
  for (let n = 0; n < bounds.connectionsMax; n += 1) {
    const socket = connect(server.port, "127.0.0.1");
    // The server closes some of them.
    socket.on("error", () => {});
    idle.push(socket);
    await once(socket, "connect");
  }
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
  const sent = request({ host: "127.0.0.1", port: server.port, path, headers, agent: false });
  const answered = once(sent, "response");
  sent.end();
  const [answer] = await answered;
  return answer;
}

test("silent connections keep no page out", async () => {
  await fill();
  const answer = await get("/now");
  expect(answer.statusCode).toBe(200);
  answer.resume();
  await once(answer, "end");
});

test("a stream of a page goes on, whatever others open", async () => {
  const code = server.address().split("#")[1] ?? "";
  const token = server.access.trade(code) ?? "";
  const stream = await get("/api/live?topics=sessions", { Authorization: `Bearer ${token}` });
  await fill();
  await fill();
  const later = await get("/now");
  expect(later.statusCode).toBe(200);
  later.resume();
  expect(stream.destroyed).toBe(false);
  expect(stream.complete).toBe(false);
  stream.destroy();
});
