/** The ring of events over a stop in order. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { EventRing, loadEvents, saveEvents } from "../../daemon/server/event-ring.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = temporaryFolder("kite-events-");
  path = join(folder, "events.ndjson");
});

function ringOf(...ids: readonly string[]): EventRing {
  const ring = new EventRing();
  const none = { epoch: 0, seq: 0, n: 0 };
  for (const [i, id] of ids.entries()) {
    const event = { event: "session_started" as const, id, name: id, project: "/p" };
    ring.add(1, i + 1, { events: [{ event, about: [id], project: "/p" }], lastEventCursor: none });
  }
  return ring;
}

test("what was kept comes back, line for line, for its owner alone", () => {
  const ring = ringOf("a", "b");
  saveEvents(path, ring.kept);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const kept = loadEvents(path);
  expect(kept?.floor).toBe("0.0.0");
  expect(kept?.events.map(({ line }) => line)).toEqual(ring.after("0.0.0")?.map(({ line }) => line));
  expect(kept?.events.map(({ about, project, entry }) => [about, project, entry])).toEqual([
    [["a"], "/p", 1],
    [["b"], "/p", 2],
  ]);
});

test("nothing to keep takes the file away", () => {
  saveEvents(path, ringOf("a").kept);
  saveEvents(path, null);
  expect(existsSync(path)).toBe(false);
  expect(loadEvents(path)).toBeNull();
});

test("a damaged file is as good as none", () => {
  saveEvents(path, ringOf("a", "b").kept);
  const whole = readFileSync(path, "utf8");
  const [head = "", first = ""] = whole.split("\n");
  for (const text of ["", "{", whole.slice(0, -5), `${first}\n`, `${head}\n{}\n`, `${head}\nnull\n`]) {
    writeFileSync(path, text);
    expect(loadEvents(path), text).toBeNull();
  }
});
