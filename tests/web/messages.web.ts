/** Messages, freezes and shared values as a person sees them, and what a person does about them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Message } from "../end-to-end/daemon.ts";
import { Agent } from "./agent.ts";
import { picture, Site } from "./browser.ts";
import { hostile } from "./hostile.ts";
import { violations } from "./violations.ts";

let site: Site;
let alice: Agent;
let bob: Agent;

beforeAll(async () => {
  site = await Site.start();
  alice = await Agent.begin(site.home, "alice");
  bob = await Agent.begin(site.home, "bob");
});
afterEach(() => expect(site.faults.splice(0)).toEqual([]));
afterAll(() => site.dispose());

const threads = (page: Page) => page.locator(".thread");
const thread = (page: Page, text: string) => threads(page).filter({ hasText: text });
const values = (page: Page) => page.getByRole("region", { name: "Shared values" });

const opened = (page: Page) => page.getByRole("region", { name: "Value", exact: true });

async function inbox(agent: Agent): Promise<readonly Message[]> {
  const { messages } = await agent.ask({ type: "message_list" });
  return messages as readonly Message[];
}

/** Writes into the dialog and sends; returns what came of it. */
async function write(page: Page, text: string): Promise<string> {
  await page.locator("dialog textarea").fill(text);
  await page.locator("dialog").getByRole("button", { name: "Send" }).click();
  return answer(page);
}

/** What the dialog says that came of a deed; closes it. */
async function answer(page: Page): Promise<string> {
  const close = page.locator("dialog").getByRole("button", { name: "Close" });
  await close.waitFor();
  const said = await page.locator("dialog").innerText();
  await close.click();
  return said;
}

describe("messages", () => {
  let question: string;

  test("say who wrote what to whom; unread and urgent threads are first, and what is acknowledged leaves", async () => {
    const page = await site.view("messages");
    await page.getByText("No inbox has a message").waitFor();
    const { message } = await bob.ask({
      type: "message_send",
      to: "alice",
      text: "May I have\n\tsrc/api.ts?",
    });
    question = (message as { readonly id: string }).id;
    await thread(page, "May I have").waitFor();
    expect(await thread(page, "May I have").innerText()).toMatch(
      /bob\s*→\s*alice \(unread\)[\s\S]*May I have\n\s*src\/api\.ts\?/,
    );
    await alice.ask({ type: "message_ack", message: question, read: true });
    await thread(page, "May I have").filter({ hasText: "alice (read)" }).waitFor();

    await alice.ask({ type: "message_send", to: "bob", text: "Later", replyTo: question });
    await thread(page, "May I have").filter({ hasText: "Later" }).waitFor();
    await alice.ask({ type: "message_send", to: "bob", text: "Pull before you push" });
    await alice.ask({ type: "message_send", to: "bob", text: "Main is red", urgent: true });
    await thread(page, "Main is red").waitFor();
    expect(await threads(page).allInnerTexts()).toEqual([
      expect.stringMatching(/urgent[\s\S]*Main is red/),
      expect.stringContaining("Pull before you push"),
      expect.stringMatching(/May I have[\s\S]*Later/),
    ]);
    await picture(page, "messages-threads");
    const [red] = (await inbox(bob)).filter(({ text }) => text === "Main is red");
    await bob.ask({ type: "message_ack", message: red?.["id"] });
    // Read, and still there to read.
    await thread(page, "Main is red").filter({ hasText: "bob (acknowledged)" }).waitFor();
    expect(await threads(page).allInnerTexts()).toEqual([
      expect.stringContaining("Pull before you push"),
      expect.stringMatching(/May I have[\s\S]*Later/),
      expect.stringContaining("Main is red"),
    ]);
    await page.getByLabel("Text").fill("later");
    await expect.poll(() => threads(page).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  test("are answered and written by a person, and their agents read them", async () => {
    const page = await site.view("messages");
    await thread(page, "May I have").getByRole("button", { name: "Answer bob" }).first().click();
    expect(await write(page, "Take it; alice is done.\nThen tell her.")).toMatch(/Done[\s\S]*sent to bob/);
    expect((await inbox(bob)).filter(({ from }) => from === null)).toMatchObject([
      { text: "Take it; alice is done.\nThen tell her.", replyTo: question, thread: question },
    ]);
    await thread(page, "May I have").filter({ hasText: "Take it; alice is done." }).waitFor();
    // A person has no inbox: nothing to answer.
    expect(
      await thread(page, "May I have")
        .getByRole("button", { name: /Answer/ })
        .count(),
    ).toBe(2);

    await page.getByLabel("To").selectOption({ label: "alice" });
    await page.getByRole("button", { name: "Write" }).click();
    expect(await write(page, "-- Stop --all")).toMatch(/Done[\s\S]*sent to alice/);
    expect((await inbox(alice)).at(-1)).toMatchObject({
      text: "-- Stop --all",
      from: null,
      broadcast: false,
    });

    await page.getByLabel("To").selectOption({ label: "everyone in work" });
    await page.getByRole("button", { name: "Write" }).click();
    expect(await write(page, "Lunch")).toMatch(/Done/);
    for (const agent of [alice, bob])
      expect((await inbox(agent)).at(-1)).toMatchObject({ text: "Lunch", broadcast: true });
    await thread(page, "Lunch").filter({ hasText: "everyone (0 of 2 read it)" }).waitFor();

    // What is refused is not lost.
    await page.getByRole("button", { name: "Write" }).click();
    const dialog = page.locator("dialog");
    for (const [text, refusal] of [
      ["", /Refused: \S/],
      ["é".repeat(9_000), /Refused: .*16/],
      ["é".repeat(40_000), /Refused: this is longer than the page can send/],
    ] as const) {
      await dialog.locator("textarea").fill(text);
      await dialog.getByRole("button", { name: "Send" }).click();
      await dialog.locator("pre").filter({ hasText: refusal }).waitFor();
      expect(await dialog.locator("textarea").inputValue()).toBe(text);
    }
    await expect.poll(() => site.faults).toEqual([expect.stringContaining("413")]);
    site.faults.splice(0);
    expect(await write(page, "Shorter")).toMatch(/Done/);
  });
});

test("is used by keys alone", async () => {
  const page = await site.view("messages");
  await thread(page, "Later").waitFor();
  await page.getByLabel("Text").focus();
  const focused = () =>
    page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? "");
  while ((await focused()) !== "Write") await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("b");
  await expect.poll(() => page.getByLabel("To").locator("option:checked").innerText()).toBe("bob");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("dialog textarea").waitFor();
  await page.keyboard.type("By keys");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("dialog pre").waitFor();
  expect(await page.locator("dialog").innerText()).toMatch(/Done[\s\S]*sent to bob/);
  await page.keyboard.press("Escape");
  await page.locator("dialog pre").waitFor({ state: "detached" });
  expect((await inbox(bob)).at(-1)).toMatchObject({ text: "By keys" });
});

test("a freeze is shown with who, which files and how long, and a person ends it", async () => {
  const page = await site.view("messages");
  await page.getByText("No file is frozen.").waitFor();
  const file = join(site.home.work, "src/db.ts");
  await alice.ask({ type: "broadcast", message: "Migrating", hold: { files: [file], ttlMs: 300_000 } });
  const freezes = page.getByRole("region", { name: "Freezes" });
  await freezes.getByText("src/db.ts").waitFor();
  expect(await freezes.innerText()).toMatch(
    /src\/db\.ts[\s\S]*frozen by\s+alice[\s\S]*\d (?:min|s) left[\s\S]*Migrating/,
  );
  await freezes.getByRole("button", { name: /^Thaw/ }).click();
  expect(await page.locator("dialog").innerText()).toMatch(/End the freeze of \S*src\/db\.ts\?/);
  await page.getByRole("button", { name: "Yes" }).click();
  expect(await answer(page)).toMatch(/Done/);
  await page.getByText("No file is frozen.").waitFor();
});

test("shared values say who, how large and how long; a value is fetched when a person opens it", async () => {
  const page = await site.view("messages");
  await page.getByText("No value is shared.").waitFor();
  const value = { port: 5432, hosts: ["a", "b"], note: "<b>\u202ex" };
  await alice.ask({ type: "context_set", key: "db", value, ttlMs: 3_600_000, durable: true });
  await bob.ask({ type: "context_set", key: "api.port", value: 4000 });
  await values(page).getByRole("button", { name: "api.port" }).waitFor();
  expect(await values(page).getByRole("listitem").allInnerTexts()).toEqual([
    expect.stringMatching(/api\.port[\s\S]*bob[\s\S]*version 1, 4 B[\s\S]*until the daemon ends/),
    expect.stringMatching(/db[\s\S]*alice[\s\S]*version 1, \d+ B[\s\S]*expires in \d+ min/),
  ]);
  await values(page).getByRole("button", { name: "db" }).click();
  const one = opened(page);
  await one.locator("pre").waitFor();
  expect(JSON.parse(await one.locator("pre").innerText())).toEqual(value);
  expect(await one.locator("pre").innerText()).toContain("\\u202e");
  await alice.ask({ type: "context_set", key: "db", value: "later" });
  await one.getByText('"later"').waitFor();
  expect(await one.innerText()).toContain("version 2");
  await alice.ask({ type: "context_delete", key: "db" });
  await one.getByText("Nothing is shared under this key").waitFor();
  await one.getByRole("button", { name: "Close" }).click();
  await one.waitFor({ state: "detached" });
});

test("an agent's page only shows, and only its project; it reads no other project's values", async () => {
  const elsewhere = join(site.home.root, "elsewhere");
  mkdirSync(elsewhere);
  const carol = await Agent.begin(site.home, "carol", elsewhere);
  await Agent.begin(site.home, "dave", elsewhere);
  await carol.ask({ type: "message_send", to: "dave", text: "Of another project" });
  await carol.ask({ type: "context_set", key: "secret", value: "another project's" });
  const page = await site.view("messages", { env: { KITE_SESSION: alice.id } });
  await values(page).getByRole("button", { name: "api.port" }).click();
  await opened(page).getByText("4000").waitFor();
  const text = await page.locator("main").innerText();
  expect(text).not.toMatch(/carol|dave|Of another project|secret/);
  expect(text).toContain("Lunch");
  const names = await page.locator("main").getByRole("button").allInnerTexts();
  expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/Answer|Write|Thaw/)]));
  const status = await page.evaluate(async (project: string) => {
    const { token } = JSON.parse(sessionStorage.getItem("pass") ?? "{}");
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`/api/value?${new URLSearchParams({ project, key: "secret" })}`, { headers })).status;
  }, elsewhere);
  expect(status).toBe(400);
  await expect.poll(() => site.faults).toEqual([expect.stringContaining("400")]);
  site.faults.splice(0);
});

test("foreign text in messages, names and keys is text, whole and wrapped", async () => {
  const { markup, turned, long, emoji } = hostile;
  const mallory = await Agent.begin(site.home, markup.slice(0, 60));
  const sent = [`${markup}\n${turned}`, long, emoji];
  for (const text of sent) await mallory.ask({ type: "message_send", to: "bob", text });
  await mallory.ask({ type: "context_set", key: `${markup.slice(0, 80)}${turned}`, value: markup });
  await mallory.ask({ type: "context_set", key: "k".repeat(200), value: { [long]: long } });
  for (const width of [400, 1200]) {
    const page = await site.view("messages", { width });
    await thread(page, "onerror").first().waitFor();
    const texts = (await threads(page).locator("p.foreign").allInnerTexts()).join("\n");
    expect(texts).toContain(markup);
    expect(texts).toContain(long);
    await values(page).getByRole("button", { name: "onerror" }).first().click();
    await opened(page).locator("pre").waitFor();
    await picture(page, `messages-hostile-${width}`);
    await opened(page).getByRole("button", { name: "Close" }).click();
    await values(page).getByRole("button", { name: "kkkk" }).click();
    await opened(page).locator("pre").filter({ hasText: long }).waitFor();
    expect(await page.title()).toBe("Kite");
    expect(await page.locator("main :is(img, script, b)").count()).toBe(0);
    expect(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText))).toBe(
      false,
    );
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth),
    ).toBe(false);
    expect(await violations(page)).toEqual([]);
  }
});
