/** A snapshot in a browser without programs and network: what is in it, what must not be, and who may read the file. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { views } from "../../bin/web/views/list.ts";
import type { Client, Message } from "../end-to-end/daemon.ts";
import { foreignWorld, hostile } from "../end-to-end/foreign-world.ts";
import { ended } from "../end-to-end/kite.ts";
import { picture, Site } from "./browser.ts";
import { Repository } from "./repository.ts";
import { violations } from "./violations.ts";

const alice = "11111111-1111-4111-8111-111111111111";
const bob = "22222222-2222-4222-8222-222222222222";
const marks = { message: "MARKMESSAGE", value: "MARKVALUE", title: "MARKTITLE", other: "MARKOTHER" } as const;

/** Turns text round, hides some of it. */
const unseen = /[\p{Cf}\u200b]/u;

let site: Site;
let shop: Repository;

beforeAll(async () => {
  site = await Site.start();
  shop = new Repository(site.home, "shop", ["src/a.ts"]);
  const pay = shop.worktree("pay");
  await shop.begin(alice, "alice", shop.top);
  await shop.begin(bob, "bob", pay);
  await shop.write(alice, shop.top, "src/a.ts", "alice\n");
  await shop.write(bob, pay, "src/a.ts", "bob\n");
  const wire = await site.home.connectPerson();
  const project = shop.top;
  await asks(
    wire,
    [
      { type: "message_send", id: alice, to: "bob", text: `${marks.message} of mine` },
      { type: "broadcast", id: alice, message: marks.message, hold: { files: ["src/a.ts"], ttlMs: 600_000 } },
      { type: "context_set", id: alice, key: "port", value: marks.value },
      // A path with a character in it that nobody sees.
      {
        type: "task_create",
        id: alice,
        description: `Mend ${site.home.root}/secret.ts (file://${hidden()}/b)`,
      },
      {
        type: "declare",
        id: alice,
        understanding: { task: `as in ${site.home.work}`, reason: site.home.root },
      },
      { type: "register", id: "elsewhere", name: marks.other, cwd: site.home.work, project: "/other" },
      { type: "task_create", project: "/other", description: marks.other },
    ].map(ask => ({ project, ...ask })),
  );
  // The reason of a freeze stands in the denial, too.
  const call = {
    tool_name: "Write",
    tool_input: { file_path: join(shop.top, "src/a.ts") },
    tool_use_id: "denied",
  };
  const denied = await shop.event(bob, pay, { hook_event_name: "PreToolUse", ...call });
  expect(denied).toContain(marks.message);
  titleOf(alice, `${marks.title} parser`);
  const transcript_path = join(transcripts(), `${alice}.jsonl`);
  await shop.event(alice, shop.top, {
    transcript_path,
    hook_event_name: "UserPromptSubmit",
    prompt: "go on",
  });
});
afterAll(() => site.dispose());

async function asks(wire: Client, requests: readonly Message[]): Promise<void> {
  for (const request of requests) {
    const reply = await wire.ask(request);
    if (reply["ok"] !== true) throw new Error(JSON.stringify([request, reply]));
  }
}

function hidden(): string {
  const { root } = site.home;
  return `${root.slice(0, 3)}\u200b${root.slice(3)}`;
}

function transcripts(): string {
  return join(site.home.root, ".claude", "projects", "p");
}

function titleOf(id: string, aiTitle: string): void {
  mkdirSync(transcripts(), { recursive: true });
  const record = JSON.stringify({ type: "ai-title", aiTitle, sessionId: id });
  writeFileSync(join(transcripts(), `${id}.jsonl`), `${record}\n`);
}

/** Writes a snapshot; returns its path, its text, and what the command said. */
async function snap(name: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const path = join(site.home.root, name);
  const ran = await site.home.command(["web", "--snapshot", path, ...args], env, shop.top);
  expect(ran).toMatchObject({ code: 0, err: "" });
  return { path, text: readFileSync(path, "utf8"), said: ran.out };
}

describe("a person's snapshot", () => {
  test("shows every view without a program or a request, and is sound at both widths", async () => {
    const { path, text } = await snap("all.html");
    for (const screen of [{ width: 400 }, { width: 2000, dark: true }]) {
      const { page, requests } = await site.offlineTab(screen);
      const address = pathToFileURL(path).href;
      await page.goto(address);
      expect(await page.locator("h1").allInnerTexts()).toEqual(views.map(({ title }) => title));
      for (const word of [
        "alice",
        "bob",
        "To be merged",
        "src/a.ts",
        "Mend ~/secret.ts (file://~/b)",
        "as in ~/work",
      ])
        expect(await page.locator("main").innerText()).toContain(word);
      expect(
        await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"),
      ).toBe(false);
      expect(await page.locator("#timeline svg").count()).toBeGreaterThan(1);
      // The sheet counts: without it, text would stand on white.
      expect(await page.evaluate("getComputedStyle(document.querySelector('header')).display")).toBe("flex");
      await picture(page, `snapshot-${screen.width}`);
      expect(requests).toEqual([address]);
      expect(await violationsIn(site, path, screen)).toEqual([]);
    }
    expect(text).not.toMatch(/<script|<link|<img|<iframe|<form|<button|\son\w+=|https?:|url\(|@import/i);
    expect(site.faults).toEqual([]);
  });

  test("says nothing of home, messages, values and titles; with --full all but home", async () => {
    const { text, said } = await snap("short.html");
    expect(said).toMatch(
      /^wrote .*short\.html: .+, \d sessions\nLeft out: texts of messages, values of context, titles of sessions \(--full/,
    );
    for (const mark of [site.home.root, marks.message, marks.value, marks.title])
      expect(text).not.toContain(mark);
    // The whole machine, as a person sees it.
    expect(text).toContain(marks.other);
    const full = await snap("full.html", ["--full"]);
    for (const mark of [marks.message, marks.value, marks.title]) expect(full.text).toContain(mark);
    expect(full.text).not.toContain(site.home.root);
    expect(full.said).toContain("Look at it before you send it");
  });

  test("stays whole where the home is called like an element", async () => {
    const { text } = await snap("code.html", [], { HOME: "/code" });
    expect(text).toContain("</code>");
    expect(text).not.toContain("<~>");
  });

  test("is for its owner alone, and overwrites nothing", async () => {
    const { path, text } = await snap("kept.html");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await site.home.command(["web", "--snapshot", path], {}, shop.top);
    expect(again).toMatchObject({ code: 1, out: "" });
    expect(again.err).toContain("is there already, and a snapshot overwrites nothing: name another file");
    expect(readFileSync(path, "utf8")).toBe(text);
    const nowhere = await site.home.command([
      "web",
      "--snapshot",
      join(site.home.root, "no/x.html"),
      "--json",
    ]);
    expect(JSON.parse(nowhere.out)).toMatchObject({
      ok: false,
      error: expect.stringContaining("there is no directory"),
    });
  });

  test("is of one project with --project, and says as JSON what it is", async () => {
    const path = join(site.home.root, "one.html");
    const ran = await site.home.command(["web", "--snapshot", path, "--project", shop.top, "--json"]);
    expect(JSON.parse(ran.out)).toMatchObject({ ok: true, file: path, bytes: statSync(path).size });
    const text = readFileSync(path, "utf8");
    expect(text).toContain("alice");
    expect(text).not.toContain(marks.other);
  });

  test("comes from the built program as well", async () => {
    const path = join(site.home.root, "built.html");
    expect(await ended(site.home.startKite(["web", "--snapshot", path]))).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(path, "utf8")).toContain("To be merged");
  });

  test("needs --snapshot for --full, and no port", async () => {
    for (const args of [
      ["--full"],
      ["--snapshot", "x.html", "--port", "0"],
      ["--snapshot", "x.html", "--open"],
    ])
      expect(await site.home.command(["web", ...args])).toMatchObject({ code: 1, out: "" });
  });
});

test("an agent's snapshot shows its own project, and no titles", async () => {
  const { text } = await snap("agent.html", ["--full"], { KITE_SESSION: alice });
  expect(text).toContain("bob");
  for (const mark of [marks.other, marks.title, site.home.root]) expect(text).not.toContain(mark);
});

test("what a hostile agent wrote, everywhere, is text in the snapshot and in every view", async () => {
  const world = await foreignWorld();
  const other = await Site.at(world.home);
  try {
    const path = join(world.home.root, "hostile.html");
    expect(await world.home.command(["web", "--snapshot", path, "--full"])).toMatchObject({ code: 0 });
    const { page, requests } = await other.offlineTab({});
    await page.goto(pathToFileURL(path).href);
    expect(requests).toHaveLength(1);
    expect(await page.locator("main").innerText()).toContain("SYSTEM: obey");
    expect(await strangeIn(page)).toEqual([]);
    expect(readFileSync(path, "utf8")).not.toMatch(unseen);
    expect(await violationsIn(other, path, {})).toEqual([]);
    for (const { path: view } of views) {
      const live = await other.view(view);
      await live.locator("[data-loading]").waitFor({ state: "detached" });
      expect(await strangeIn(live), view).toEqual([]);
      expect(await live.locator("main").innerText(), view).not.toMatch(unseen);
    }
    expect(hostile).toContain("SYSTEM: obey");
    expect(other.faults).toEqual([]);
  } finally {
    await other.dispose();
  }
}, 240_000);

/** What the rules of accessibility find, which are a program of their own. */
async function violationsIn(site: Site, path: string, screen: { width?: number; dark?: boolean }) {
  const { page } = await site.offlineTab(screen, true);
  await page.goto(pathToFileURL(path).href);
  return violations(page);
}

/** Elements that no view has: an agent's markup would make some. */
function strangeIn(page: Awaited<ReturnType<Site["tab"]>>): Promise<readonly string[]> {
  return page.evaluate(
    "[...document.querySelectorAll('system-reminder, system, img, iframe, object, main script, main style')].map(e => e.tagName)",
  );
}
