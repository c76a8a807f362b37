import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let uses = 0;
beforeAll(() => w.start());
afterAll(() => w.dispose());

async function lock(session: string, cwd: string, file: string, waitMs = 1000) {
  uses += 1;
  const who = { session, cwd, toolUseId: `use-${uses}`, ancestors: [], promptId: null, parentFile: null };
  const [outcome] = await w.act({ do: "lock", ...who, file: join(cwd, file), waitMs, overwrites: [] });
  return { outcome, who };
}

it("an edit of what is ignored passes at once, beside another one's, and leaves a line in the trail alone", async () => {
  const dir = w.repo("shop", ["a.ts", ".gitignore"]);
  w.put(dir, ".gitignore", "dist\n");
  w.put(dir, ".kite/config.json", JSON.stringify({ ignore: ["gen/"] }));
  for (const name of ["alice", "bob"]) await w.begin(name, dir);
  const client = await w.client();
  const seq = async () => Number((await client.ask({ type: "stats" }))["seq"]);
  await w.act({ do: "heartbeat", session: "alice" });
  const before = await seq();
  for (const file of ["node_modules/x/a.js", "dist/a.js", "gen/a.ts", "src/.a.ts.swp"]) {
    mkdirSync(join(dir, file, ".."), { recursive: true });
    for (const name of ["alice", "bob"]) {
      const { outcome, who } = await lock(name, dir, file);
      expect(outcome, file).toEqual({ did: "ignored", ok: true });
      const end = { do: "flight_end", ...who, wrote: true, file: join(dir, file), lines: null };
      expect(await w.act(end)).toEqual([{ did: "flight_end", ok: true }]);
    }
  }
  expect(await seq()).toBe(before);
  expect((await client.ask({ type: "query", target: "locks" }))["rows"]).toEqual([]);
  await w.stop();
  const trail = readFileSync(join(w.paths.trail, "trail-1.ndjson"), "utf8").split("\n");
  expect(trail.filter(line => line.includes("ignored: it needs no lock"))).toHaveLength(8);
  await w.start();
});

it("a project may have its edits wait less, and its holds yield as soon as they are written", async () => {
  const dir = w.repo("quick");
  w.put(dir, ".kite/config.json", JSON.stringify({ keepLockUntil: "edit" }));
  for (const name of ["carol", "dave"]) await w.begin(name, dir);
  const { who } = await lock("carol", dir, "a.ts");
  const waiting = lock("dave", dir, "a.ts", 20_000);
  await w.act({ do: "flight_end", ...who, wrote: true, file: join(dir, "a.ts"), lines: null });
  expect((await waiting).outcome).toMatchObject({ did: "lock", ok: true });
});
