/** The page around its views: how it is entered, what it says when its server or the daemon is away, keys, and texts of others. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../end-to-end/daemon.ts";
import { Site } from "./browser.ts";

const [alice, bob] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

let site: Site;
let client: Client;

const lock = (id: string, file: string) =>
  client.ask({ type: "file_lock", id, file, cwd: site.home.work, waitMs: 0 });
const agents = (page: Page) => page.locator("tbody th button").allInnerTexts();

beforeAll(async () => {
  site = await Site.start();
});
beforeEach(async () => {
  client = await site.home.session(alice, { name: "alice" });
});
afterEach(() => expect(site.faults.splice(0)).toEqual([]));
afterAll(() => site.dispose());

/** Closes the tabs, which ask again and again, and drops what the browser told of a server that went; the page says so itself. */
async function forgive(pattern: RegExp): Promise<void> {
  await site.close();
  const left = site.faults.splice(0).filter(fault => !pattern.test(fault));
  site.faults.push(...left);
}

describe("the address", () => {
  test("opens one page; who has it later reads a sentence that does not say whose it is", async () => {
    const page = await site.view("now");
    expect(new URL(page.url()).hash).toBe("");
    await page.reload();
    await page.locator("main h1").waitFor();
    const address = await site.again();
    const first = await site.tab();
    await first.goto(address);
    await first.locator("main h1").waitFor();
    const second = await site.tab();
    await second.goto(address);
    const text = second.locator("#page:not(:empty)");
    await text.waitFor();
    expect(await text.innerText()).toMatch(/^This address was used, or is too old\./);
    expect(await second.content()).not.toMatch(/kite/i);
    await forgive(/404|ERR_/);
  });

  test("keeps the view and what is asked of it", async () => {
    const page = await site.view("now");
    await page.selectOption("select", { index: 1 });
    expect(page.url()).toContain("project=");
    await page.reload();
    await page.locator("main h1").waitFor();
    expect(await page.locator("select").inputValue()).not.toBe("");
  });

  test("with a token of another server gives no page", async () => {
    const page = await site.view("now");
    await page.evaluate(() => sessionStorage.setItem("pass", JSON.stringify({ token: "x", folder: "x" })));
    await page.reload();
    await page.getByText("This address was used").waitFor();
    await forgive(/404|MIME/);
  });
});

describe("live", () => {
  test("an agent that comes or goes does so on the page", async () => {
    const page = await site.view("now");
    await expect.poll(() => agents(page)).toEqual(["alice"]);
    const second = await site.home.session(bob, { name: "bob" });
    await expect.poll(() => agents(page)).toEqual(["alice", "bob"]);
    await second.ask({ type: "deregister", id: bob });
    await expect.poll(() => agents(page)).toEqual(["alice"]);
  });

  test("a daemon that ends is said, and the page goes on with the next one", async () => {
    const page = await site.view("now");
    await lock(alice, "a.ts");
    await page.getByRole("cell", { name: /a\.ts/ }).waitFor();
    await site.home.daemon.kill();
    const away = page.getByRole("alert");
    await away.waitFor();
    expect(await away.innerText()).toContain("What is shown is as of before.");
    expect(await agents(page)).toEqual(["alice"]);
    await site.home.start();
    client = await site.home.session(bob, { name: "bob" });
    await away.waitFor({ state: "detached" });
    await expect.poll(() => agents(page)).toContain("bob");
    await client.ask({ type: "deregister", id: bob });
  });

  test("that Kite is off is said, until it is on again", async () => {
    const page = await site.view("now");
    await page
      .getByRole("cell", { name: "alice" })
      .or(page.getByRole("rowheader", { name: "alice" }))
      .first()
      .waitFor();
    await site.home.kite("off", "--for", "1h");
    const notice = page.getByText(/Kite is off everywhere until .* Switch it on: kite on/);
    await notice.waitFor();
    await site.home.kite("on");
    await notice.waitFor({ state: "detached" });
  });

  test("a server that ends is said", async () => {
    const page = await site.view("now");
    await site.stop();
    const away = page.getByRole("alert");
    await away.waitFor();
    expect(await away.innerText()).toContain("kite web");
    await site.serve();
    await page.getByText("Start it again for another address").waitFor();
    await forgive(/404|ERR_|Failed to fetch/);
  });

  test("an open page does not keep a daemon that nobody needs", async () => {
    const { config } = site.home.paths;
    writeFileSync(config, '{"idleExitMs": 1}', { mode: 0o600 });
    await site.home.daemon.kill();
    const daemon = await site.home.start();
    const page = await site.view("now");
    await client.ask({ type: "deregister", id: alice }).catch(() => {});
    const other = await site.home.connect();
    await other.ask({ type: "deregister", id: alice });
    await other.ask({ type: "deregister", id: bob });
    other.destroy();
    await daemon.exited;
    await page.getByRole("alert").waitFor();
    writeFileSync(config, "{}", { mode: 0o600 });
    await site.home.start();
    await page.getByRole("alert").waitFor({ state: "detached" });
  });
});

describe("by keys alone", () => {
  test("a person takes a lock from its holder, and is asked first", async () => {
    await lock(alice, "keys.ts");
    const second = await site.home.session(bob, { name: "bob" });
    second.send({ type: "file_lock", id: bob, file: "keys.ts", cwd: site.home.work, waitMs: 60_000 });
    const page = await site.view("now");
    const release = page.getByRole("button", { name: "Release" });
    await release.waitFor();
    await release.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await dialog.innerText()).toContain("keys.ts from alice?");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await page.getByRole("region", { name: "Files in dispute" }).count()).toBe(1);
    await release.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Yes" }).press("Enter");
    await page.getByText("released:").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Files in dispute" }).waitFor({ state: "detached" });
    await second.ask({ type: "deregister", id: bob });
  });

  test("an agent is explained", async () => {
    const page = await site.view("now");
    const name = page.locator("tbody").getByRole("button", { name: "alice" });
    await name.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await dialog.innerText()).toContain("alice");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
  });
});

test("texts of others are text", async () => {
  const names = [
    '<img src=x onerror="document.title=1">',
    "</td><script>document.title=2</script>",
    "a&lt;b>",
    "\u202Eevil\u2066",
    "é漢字🪁",
  ];
  for (const [n, name] of names.entries()) {
    const id = `44444444-4444-4444-8444-44444444444${n}`;
    const one = await site.home.session(id, { name: `s${n}` });
    await one.ask({
      type: "file_lock",
      id,
      file: `dir/${name.replaceAll("/", "_")}.ts`,
      cwd: site.home.work,
    });
    await one.ask({ type: "task_create", id, description: name });
  }
  const page = await site.view("now");
  await expect.poll(() => page.locator("tbody tr").count()).toBeGreaterThan(names.length);
  // What agents hold may come behind the agents.
  await expect.poll(() => page.locator("main").innerText()).toContain("é漢字🪁.ts");
  expect(await page.title()).toBe("Kite");
  expect(await page.locator("main img, main script").count()).toBe(0);
  const text = await page.locator("main").innerText();
  expect(text).toContain('<img src=x onerror="document.title=1">.ts');
  expect(text).toContain("é漢字🪁.ts");
  const turned = /[\u202A-\u202E\u2066-\u2069]/;
  expect(text).not.toMatch(turned);
  await page.locator("tbody").getByRole("button", { name: "evil" }).click();
  const said = await page.getByRole("dialog").innerText();
  expect(said).toContain("evil");
  expect(said).not.toMatch(turned);
  expect(readFileSync(site.home.paths.log, "utf8")).not.toContain("internal_error");
});
