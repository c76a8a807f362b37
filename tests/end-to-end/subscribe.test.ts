/** The client library's subscription over lost connections and restarts: every event once, in order. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import type { ParamsOf } from "../../protocol/schemas/requests.ts";
import { Home } from "./daemon.ts";

let home: Home;
const open: KiteClient[] = [];

beforeEach(() => {
  home = new Home();
});
afterEach(async () => {
  for (const client of open.splice(0)) client.close();
  await home.dispose();
});

/** What one subscriber hears of sessions that begin. */
async function listen(filter: ParamsOf<"subscribe">) {
  const client = await KiteClient.connect({ paths: home.paths, reconnect: true, reconnectMs: 60_000 });
  open.push(client);
  const heard: string[] = [];
  const waits = new Map<string, () => void>();
  let lagged = 0;
  client.onLagged(() => {
    lagged += 1;
  });
  client.onEvent(event => {
    if (event.event !== "session_started") return;
    heard.push(event.id);
    waits.get(event.id)?.();
  });
  await client.subscribe(filter);
  const until = (id: string) =>
    heard.includes(id) ? Promise.resolve() : new Promise<void>(resolve => waits.set(id, resolve));
  return { heard, until, lagged: () => lagged };
}

test("nothing is missing and nothing comes twice, however the daemon ends", async () => {
  await home.start();
  const all = await listen({});
  const some = await listen({ events: ["session_started"], project: "even" });
  const begun: string[] = [];
  for (let round = 0; round < 8; round += 1) {
    for (let n = 0; n < 6; n += 1) {
      const id = `r${round}-${n}`;
      const session = await home.session(id, { project: n % 2 === 0 ? "even" : "odd" });
      // What it does besides is heard of too, and is not counted.
      session.send({ type: "file_lock", id, file: `${home.work}/${id}` });
      begun.push(id);
    }
    // In the middle of what it sends, or after it: both ends have to know how far they came.
    if (round % 3 === 0) await all.until(begun.at(-1) ?? "");
    if (round % 2 === 0) await home.daemon.kill();
    else {
      home.daemon.signal("SIGTERM");
      await home.daemon.exited;
    }
    await home.start();
  }
  await home.session("last", { project: "even" });
  begun.push("last");
  await Promise.all([all.until("last"), some.until("last")]);
  expect(all.heard).toEqual(begun);
  expect(some.heard).toEqual(begun.filter(id => id === "last" || Number(id.at(-1)) % 2 === 0));
  expect([all.lagged(), some.lagged()]).toEqual([0, 0]);
});
