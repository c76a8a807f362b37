/** A store of kept work that is damaged: status, doctor and rescue say so, and a person has back what was set aside. */
import { readdirSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

async function said(dir: string): Promise<string> {
  const [status, doctor, rescue] = await Promise.all(
    ["status", "doctor", "rescue"].map(command => world.kite(dir, [command])),
  );
  // Lines are wrapped.
  return [status, doctor, rescue].map(ran => ran?.out.replace(/\s+/g, " ")).join("\n---\n");
}

test("a folder that is removed is told before the next write, and nothing is where all is well", async () => {
  const dir = world.repo("removed");
  await world.write("d-ann", dir, "a.ts", "a.ts\none\n");
  expect(await said(dir)).not.toMatch(/kept work/i);
  const objects = join(world.paths.rescue, "objects");
  renameSync(objects, `${objects}.aside`);
  for (const part of (await said(dir)).split("\n---\n"))
    expect(part).toContain("was removed or cut while the daemon runs; put it back if you have it");
  renameSync(`${objects}.aside`, objects);
  expect(await said(dir)).not.toMatch(/kept work/i);
});

test("what a start makes anew of a lost index is counted; what says nothing is set aside for a person", async () => {
  const dir = world.repo("rebuilt");
  await world.write("d-bob", dir, "a.ts", "a.ts\nlabelled\n");
  await world.write("d-bob", dir, "b.ts", "b.ts\nbare\n");
  const versions = await world.versions({ file: dir });
  const bare = versions.find(({ file }) => file === "b.ts");
  await world.stop();
  const packed = inflateSync(readFileSync(bare?.object ?? ""), { info: true }) as unknown as {
    engine: { bytesWritten: number };
  };
  truncateSync(bare?.object ?? "", packed.engine.bytesWritten);
  rmSync(join(world.paths.rescue, "index"));
  await world.start();
  const [labelled] = await world.versions({ file: join(dir, "a.ts") });
  expect(labelled).toEqual(versions.find(({ file }) => file === "a.ts"));
  const found = "2 versions came back, 1 content of unknown files set aside";
  const [status = "", doctor = "", rescue = ""] = (await said(dir)).split("\n---\n");
  for (const part of [status, doctor])
    expect(part).toContain(`Kept work was damaged: ${found}; see kite rescue`);
  expect(rescue).toContain(found);
  const [, version = ""] = /kite rescue restore (v-\d+) --into DIR/.exec(rescue) ?? [];
  const name = bare?.hash.slice(0, 12) ?? "";
  expect(rescue).toContain(name);
  // Not an agent, whatever its project: nobody knows whose it is.
  await world.agent("d-bob", dir);
  const own = await world.json(dir, ["rescue"], "d-bob");
  expect(own).not.toHaveProperty("aside");
  expect((await world.kite(dir, ["rescue", "restore", version, "--into", "x"], "d-bob")).code).toBe(1);
  expect(await world.kite(dir, ["rescue", "restore", version])).toMatchObject({
    ...{ code: 1, out: expect.stringContaining(`kite rescue restore ${version} --into DIR`) },
  });
  expect((await world.kite(dir, ["rescue", "restore", version, "--into", "x"])).code).toBe(0);
  expect(world.read(dir, `x/${name}`)).toBe("b.ts\nbare\n");
  const { aside, state } = await world.json(dir, ["rescue"]);
  expect(aside).toMatchObject([{ version, kind: "set_aside", by: null }]);
  const { asideFolder } = (state as { damage: { asideFolder: string } }).damage;
  // Of what file it is nobody knows, so it may be of the purged one.
  const other = await world.kite(dir, ["rescue", "purge", "b.ts"]);
  expect(other.out).toContain(
    `1 content of unknown files stays, and may be meant: kite rescue purge ${asideFolder}`,
  );
  const purged = await world.kite(dir, ["rescue", "purge", asideFolder]);
  expect(purged.out).not.toContain("unknown files");
  expect(purged.out).toMatch(/^Removed for good: 1 version, /);
  expect(await world.json(dir, ["rescue"])).toMatchObject({ state: { damage: { setAside: 0 } } });
  expect(readdirSync(world.paths.rescue).sort()).toEqual(["CACHEDIR.TAG", "index", "objects"]);
});
