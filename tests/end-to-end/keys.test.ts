import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
beforeAll(() => w.start());
afterAll(() => w.dispose());

/** Two sessions, each in a repository of its own, and a connection. */
async function world(name: string) {
  const [shop, blog] = [w.repo(`${name}-shop`), w.repo(`${name}-blog`)];
  const [alice, bob] = [`${name}-alice`, `${name}-bob`];
  await w.begin(alice, shop);
  await w.begin(bob, blog);
  const client = await w.client();
  const ask = (type: string, id: string, file: string) => client.ask({ type, id, file, waitMs: 0 });
  return { shop, blog, alice, bob, ask };
}

it("a file has one lock for sessions of other projects, too", async () => {
  const { shop, alice, bob, ask } = await world("across");
  expect(await ask("file_lock", alice, "a.ts")).toMatchObject({ ok: true });
  const held = { ok: false, code: "lock_held", locked_by: alice, path: join(shop, "a.ts") };
  expect(await ask("file_lock", bob, join(shop, "a.ts"))).toMatchObject(held);
  expect(await ask("file_lock", bob, `../across-shop/./src/../a.ts`)).toMatchObject(held);
  symlinkSync(shop, join(w.folder, "across-link"));
  expect(await ask("file_lock", bob, join(w.folder, "across-link", "a.ts"))).toMatchObject(held);
  expect(await ask("file_lock", bob, join(w.folder, "across-link", "src/c.ts"))).toMatchObject({ ok: true });
});

it("a lock taken before its file was made keeps its key, and is given back by the words it was taken by", async () => {
  const { shop, alice, bob, ask } = await world("later");
  const file = join(shop, "new", "x.ts");
  expect(await ask("file_lock", alice, "new/x.ts")).toMatchObject({ ok: true, path: file });
  mkdirSync(join(shop, "new"));
  writeFileSync(file, "x");
  expect(await ask("file_lock", bob, file)).toMatchObject({ code: "lock_held", path: file });
  // The name leads elsewhere from now on: who asks now asks for that, what is held stays what it was.
  rmSync(file);
  symlinkSync(join(shop, "a.ts"), file);
  expect(await ask("file_lock", bob, file)).toMatchObject({ ok: true, path: join(shop, "a.ts") });
  expect(await ask("file_unlock", alice, "new/x.ts")).toMatchObject({ ok: true, released: ["new/x.ts"] });
  expect(await ask("file_lock", alice, "a.ts")).toMatchObject({ code: "lock_held", locked_by: bob });
});

it("two hard links to a file are two files, as the README says", async () => {
  const { shop, alice, bob, ask } = await world("hard");
  linkSync(join(shop, "a.ts"), join(shop, "also-a.ts"));
  expect(await ask("file_lock", alice, "a.ts")).toMatchObject({ ok: true });
  expect(await ask("file_lock", bob, join(shop, "also-a.ts"))).toMatchObject({ ok: true });
});

it("a name behind `link/..` is beside the link, wherever it leads, as the wire's page says", async () => {
  const { shop, blog, alice, bob, ask } = await world("dots");
  symlinkSync(blog, join(shop, "link"));
  const path = join(shop, "x.ts");
  expect(await ask("file_lock", alice, "link/../x.ts")).toMatchObject({ ok: true, path });
  expect(await ask("file_lock", bob, path)).toMatchObject({ code: "lock_held", locked_by: alice });
});
