/** Uncommitted work as a person sees it: whose it is, what will have to be merged, and what a line took, live. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { shownMax } from "../../bin/web/views/work.tsx";
import { picture, Site } from "./browser.ts";
import { Repository } from "./repository.ts";
import { violations } from "./violations.ts";

const alice = "11111111-1111-4111-8111-111111111111";
const bob = "22222222-2222-4222-8222-222222222222";
/** Markup, a command for a terminal, and what turns the text round. */
const hostile = "<img src=x onerror=alert(1)>\u202e.ts";

let site: Site;
let shop: Repository;
let pay: string;

beforeAll(async () => {
  site = await Site.start();
  shop = new Repository(site.home, "shop", ["src/a.ts", "src/b.ts", "top.ts"]);
  pay = shop.worktree("pay");
  await shop.begin(alice, "alice", shop.top);
  await shop.begin(bob, "bob", pay);
});
afterAll(() => site.dispose());

test("shows whose work is in which file, and what two worktrees will have to merge, as it happens", async () => {
  const page = await site.view("work");
  await page.getByText("No uncommitted work that Kite saw").waitFor();
  await shop.write(alice, shop.top, "src/a.ts", "alice\n");
  const files = page.getByRole("region", { name: "shop" });
  await files.waitFor();
  expect(await files.innerText()).toMatch(/src\/[\s\S]*a\.ts[\s\S]*alice[\s\S]*changed/);
  await shop.write(bob, pay, "src/new.ts", "new\n");
  await shop.write(bob, pay, "src/a.ts", "bob\n");
  const merge = page.getByRole("region", { name: "To be merged" });
  await merge.waitFor();
  expect(await merge.innerText()).toMatch(/src\/a\.ts[\s\S]*bob[\s\S]* in pay\/ \(pay\)/);
  expect(await merge.innerText()).toMatch(/alice[\s\S]* in shop\/ \(main\)/);
  await page.getByRole("row", { name: /new\.ts/ }).waitFor();
  expect(await files.innerText()).toContain("untracked");
  expect(await page.locator("h2").allInnerTexts()).toEqual([
    expect.stringContaining("To be merged"),
    expect.stringContaining("shop"),
  ]);
  // Bob wrote last.
  expect(await page.locator("h3").allInnerTexts()).toEqual([
    expect.stringContaining("/pay"),
    expect.stringContaining("/shop"),
  ]);
  await picture(page, "work-merge");

  shop.git(pay, "add", "src/a.ts");
  await page.getByRole("cell", { name: "staged" }).waitFor();
  shop.git(pay, "commit", "-qm", "bob's");
  await merge.waitFor({ state: "detached" });
  expect(site.faults).toEqual([]);
});

test("shows what a line wiped with the command that brings it back, until it is back", async () => {
  const page = await site.view("work");
  const carol = "44444444-4444-4444-8444-444444444444";
  await shop.begin(carol, "carol", shop.top);
  await shop.write(alice, shop.top, "src/lost.ts", "one\ntwo\nthree\n");
  await shop.line(carol, shop.top, "python3 wipe.py", () => rmSync(join(shop.top, "src/lost.ts")));
  const wiped = page.getByRole("region", { name: "Wiped lately" });
  await wiped.waitFor();
  const said = await wiped.innerText();
  expect(said).toMatch(/kite rescue restore r-\d+/);
  expect(said).toMatch(/3 lines of src\/lost\.ts; work of alice/);
  expect(said).toMatch(/carol[\s\S]*python3/);
  await picture(page, "work-wiped");
  const [command = ""] = /kite rescue restore r-\d+/.exec(said) ?? [];
  await site.home.kite(...command.split(" ").slice(1));
  await wiped.waitFor({ state: "detached" });
  expect(site.faults).toEqual([]);
});

test("shows hostile names as text, and of very many files the latest, with how many are left out", async () => {
  const many = shownMax.inDirectory + 5;
  for (let n = 0; n < many; n += 1) await shop.write(bob, pay, `many/${n}.ts`, `${n}\n`);
  await shop.write(bob, pay, hostile, "text\n");
  const page = await site.view("work", { width: 400 });
  await page.getByText("and 5 more files of bob in this directory").waitFor();
  // The name as it is, without what would turn it round.
  await page.getByText("<img src=x onerror=alert(1)>.ts").waitFor();
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.getByText(`${many - 1}.ts`, { exact: true }).count()).toBe(1);
  await picture(page, "work-many-400");
  expect(await violations(page)).toEqual([]);
  expect(site.faults).toEqual([]);
});

test("explains the agent whose name was clicked, also if one of another project has that name", async () => {
  const other = new Repository(site.home, "other", ["a.ts"]);
  const namesake = "33333333-3333-4333-8333-333333333333";
  await other.begin(namesake, "alice", other.top);
  await other.write(namesake, other.top, "new.ts", "text\n");
  await shop.write(alice, shop.top, "src/b.ts", "text\n");
  const page = await site.view("work");
  for (const project of ["other", "shop"]) {
    await page.getByRole("region", { name: project }).getByRole("button", { name: "alice" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`alice is idle in ~/work/${project}`).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  }
  expect(site.faults).toEqual([]);
});
