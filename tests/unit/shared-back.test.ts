/** A store that lacks entries which this machine has seen: a backup was restored, or a standby that lagged took over. */
import { expect, test } from "vitest";
import { storeText } from "../../bin/view/store.ts";
import { storeState } from "../../daemon/sharing/show.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { begin, create, MemoryStoreOfAll, machine } from "./shared-world.ts";

const isOpen = (one: { readonly store: { readonly condition: { readonly is: string } } }) =>
  expect.poll(() => one.store.condition.is, { timeout: 20_000 }).toBe("open");

test("is gone on with, and people read that something may be missing", async () => {
  const all = new MemoryStoreOfAll();
  const here = await machine("here", all);
  await isOpen(here);
  await begin(here, "s1");
  expect(await here.log.submitAndWait(create(here, "s1", "kept"))).toMatchObject({ ok: true });
  const kept = all.entries.length;
  expect(await here.log.submitAndWait(create(here, "s1", "lost"))).toMatchObject({ ok: true });
  expect(storeText(storeState(here.store), Date.now())).toBeNull();
  all.goBack(kept);
  await expect.poll(() => here.store.state?.tasks.all.size, { timeout: 20_000 }).toBe(1);
  await isOpen(here);
  expect(here.conditions).toEqual(["open", "opening", "open"]);
  expect(storeText(storeState(here.store), Date.now())).toMatch(/^store went back at \d\d:\d\d: /);
  expect(storeText(storeState(here.store), Date.now() + limits.storeWentBackMs)).toBeNull();
  expect(await here.log.submitAndWait(create(here, "s1", "after"))).toMatchObject({ ok: true });
});

test("is found again by itself when its tables were gone while the backup was restored", async () => {
  const all = new MemoryStoreOfAll();
  const here = await machine("here", all);
  await isOpen(here);
  await begin(here, "s1");
  expect(await here.log.submitAndWait(create(here, "s1", "kept"))).toMatchObject({ ok: true });
  all.removeTables();
  await expect.poll(() => here.store.condition.is, { timeout: 20_000 }).toBe("refused");
  expect(storeText(storeState(here.store), Date.now())).toMatch(
    /^the store cannot be used now \(the test.*\); tasks and messages as of \d\d:\d\d; /,
  );
  expect(await here.log.submitAndWait(create(here, "s1", "meanwhile"))).toMatchObject({ code: "store_away" });
  // It is looked at again, over the store that this machine joined alone.
  const tries = all.knownIds.length;
  await expect.poll(() => all.knownIds.length, { timeout: 20_000 }).toBeGreaterThan(tries + 1);
  expect(new Set(all.knownIds.slice(tries))).toEqual(new Set([all.id]));
  all.isLost = false;
  await isOpen(here);
  expect(here.conditions).toEqual(["open", "refused", "open"]);
  expect(await here.log.submitAndWait(create(here, "s1", "after"))).toMatchObject({ ok: true });
  expect(here.store.state?.tasks.all.size).toBe(2);
});

test("is known at a start, too, by the copy that the stop left", async () => {
  const all = new MemoryStoreOfAll();
  const copyPath = `${temporaryFolder()}/copy`;
  const before = await machine("here", all, { copyPath, node: "same" });
  await isOpen(before);
  await begin(before, "s1");
  for (const text of ["one", "two", "three"]) await before.log.submitAndWait(create(before, "s1", text));
  await before.store.close();
  all.entries.length -= 2;
  const after = await machine("here", all, { copyPath, node: "same" });
  await isOpen(after);
  expect(storeText(storeState(after.store), Date.now())).toMatch(/^store went back at /);
});
