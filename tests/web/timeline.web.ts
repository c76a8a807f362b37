/** The timeline: a day that was played against a real daemon, and a trail of ten thousand lines. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { picture, Site } from "./browser.ts";
import { playDay } from "./day.ts";
import { busyTrail, stretched, trailOf, writeTrail } from "./trails.ts";
import { violations } from "./violations.ts";

const hour = 3_600_000;

let site: Site;
let day: { readonly fromMs: number; readonly untilMs: number };

beforeAll(async () => {
  site = await Site.start();
  const fromMs = Date.now();
  expect(await playDay(site.home)).toContain('"deny"');
  day = { fromMs, untilMs: Date.now() };
});
afterAll(() => site.dispose());

function figure(page: Page, name: RegExp) {
  return page.getByRole("button", { name });
}

async function open(of: Site, address: string, size: { width?: number; dark?: boolean } = {}): Promise<Page> {
  const page = await of.view(address, size);
  await page.locator(".lanes .lane").first().waitFor();
  return page;
}

/** The length of the range that the address names. */
function lengthIn(url: URL): number {
  const [from, until] = ["from", "until"].map(name => Date.parse(url.searchParams.get(name) ?? ""));
  return (until ?? 0) - (from ?? 0);
}

describe("a day of four sessions", () => {
  const address = () => `timeline?from=${day.fromMs}&until=${day.untilMs}`;

  test("a wait says who had the file and why, and what kite explain says", async () => {
    const page = await open(site, address());
    await figure(page, /^bob waited for \S*src\/api\.ts, which alice had: .* to /).click();
    const details = page.getByRole("region", { name: "Details" });
    await details.getByText("Latest decisions").waitFor();
    const text = await details.innerText();
    expect(text).toMatch(/bob waited \S+ for src\/api\.ts, then had the lock, but its tool did not run\./);
    expect(text).toMatch(/Who had it\s+alice/);
    expect(text).toMatch(/Why\s+behind alice, queue position 1/);
    expect(text).toMatch(/alice took src\/api\.ts at once/);
    await picture(page, "timeline-wait");
    expect(await violations(page)).toEqual([]);
    await details.getByRole("button", { name: "Close" }).click();
    await details.waitFor({ state: "detached" });
    expect(site.faults).toEqual([]);
  });

  test("holds, a wait that ended with a denial, a stash that the guard denied, prompts and ends are there", async () => {
    const page = await open(site, address(), { width: 2000 });
    for (const name of [
      /^alice held \S*src\/schema\.ts/,
      /^dave waited for \S*src\/db\.ts, which alice had/,
      /denials?\b.*/,
      /^carol waited for \S*src\/api\.ts/,
      /^end: carol's session ended|, 1 end|^\d+ together: .*end/,
    ])
      await figure(page, name).first().waitFor();
    const decisions = page.getByRole("region", { name: "Decisions" });
    await decisions.getByRole("button", { name: /dave was denied `git stash push`: would reach/ }).click();
    const details = page.getByRole("region", { name: "Details" });
    await details
      .getByText(/uncommitted work: src\/api\.ts \(carol\)/)
      .first()
      .waitFor();
    expect(await details.innerText()).toMatch(/dave: denial/);
    expect(site.faults).toEqual([]);
  });

  test("keys zoom and move, go from one thing to the next, and open it", async () => {
    const page = await open(site, address());
    const lanes = page.getByRole("group", { name: "Lanes" });
    await lanes.focus();
    const before = day.untilMs - day.fromMs;
    await page.keyboard.press("+");
    await page.waitForURL(url => lengthIn(url) > 0 && lengthIn(url) < before * 0.8);
    const near = lengthIn(new URL(page.url()));
    await page.keyboard.press("-");
    await page.waitForURL(url => lengthIn(url) > near * 1.2);
    const from = new URL(page.url()).searchParams.get("from");
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(url => url.searchParams.get("from") !== from);
    await page.keyboard.press("Enter");
    const focus = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    const first = await focus();
    expect(first).toMatch(/alice/);
    await page.keyboard.press("ArrowRight");
    expect(await focus()).not.toBe(first);
    await page.keyboard.press("ArrowDown");
    expect(await focus()).toMatch(/bob|together|begin/);
    const opened = await focus();
    await page.keyboard.press("Enter");
    await page.locator(".panel:focus").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".panel").waitFor({ state: "detached" });
    expect(await focus()).toBe(opened);
    for (let n = 0; n < 8; n += 1) await page.keyboard.press("+");
    await page.waitForURL(url => lengthIn(url) === 1_000);
    expect(await page.evaluate("document.activeElement.closest('.lanes') !== null")).toBe(true);
    await page.keyboard.press("Escape");
    expect(await focus()).toBe("Lanes");
    await page.locator("h1").click();
    await page.keyboard.press("+");
    expect(await page.evaluate("document.activeElement === document.body")).toBe(true);
    expect(site.faults).toEqual([]);
  });

  test("the lanes have the focus when a figure that had it is zoomed away", async () => {
    const page = await open(site, address());
    await page.getByRole("group", { name: "Lanes" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".lane .figure:focus").waitFor();
    for (let n = 0; n < 3; n += 1) await page.keyboard.press("+");
    await page.waitForURL(url => lengthIn(url) > 0 && lengthIn(url) < (day.untilMs - day.fromMs) / 3);
    // How long the figure is depends on how slow the machine was: until it is out of sight.
    const lanesHaveFocus = async () => {
      const isInSight = (await page.locator(".lane .figure:focus").count()) > 0;
      if (isInSight) await page.keyboard.press("Shift+ArrowRight");
      return (await page.locator(".lanes:focus").count()) === 1;
    };
    await expect.poll(lanesHaveFocus, { timeout: 40_000 }).toBe(true);
    expect(site.faults).toEqual([]);
  });

  test("the address shows the same again, the buttons change the range, and a kind can be left out", async () => {
    const page = await open(site, address());
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.waitForURL(url => url.searchParams.get("from")?.includes("T") === true);
    const shown = await page.locator(".bar .range").innerText();
    await page.reload();
    await page.locator(".lanes .lane").first().waitFor();
    expect(await page.locator(".bar .range").innerText()).toBe(shown);
    await page.getByRole("button", { name: "15 min" }).click();
    await page.waitForURL(url => url.searchParams.get("last") === "15m" && !url.searchParams.has("from"));
    await page.locator(".lane .bar.hold").first().waitFor();
    await page.getByRole("button", { name: "hold", exact: true }).click();
    await page.waitForURL(url => url.searchParams.get("hide") === "hold");
    await page.locator(".lane .bar.hold").first().waitFor({ state: "detached" });
    expect(await page.locator(".lane .bar.wait").count()).toBeGreaterThan(0);
    expect(site.faults).toEqual([]);
  });

  test("the last hour shows what happens now", async () => {
    const page = await open(site, "timeline");
    const id = "e5e00000-0000-4000-8000-000000000005";
    const eve = await site.home.session(id, { name: "eve", project: site.home.work });
    await eve.ask({ type: "file_lock", id, file: "src/new.ts", cwd: site.home.work });
    await figure(page, /eve held \S*src\/new\.ts: since/).waitFor();
    await eve.ask({ type: "file_unlock", id, file: "src/new.ts", cwd: site.home.work });
    await figure(page, /eve held \S*src\/new\.ts: \S+ to /).waitFor();
    expect(site.faults).toEqual([]);
  });
});

describe("a trail of ten thousand lines, and the day over eight hours", () => {
  let long: Site;

  beforeAll(async () => {
    const lines = trailOf(site.home).filter(({ at }) => at <= day.untilMs);
    long = await Site.start(home => {
      const busy = { count: 10_000, untilMs: Date.now() - 30 * hour, lengthMs: 24 * hour };
      const eight = { untilMs: Date.now() - 60_000, lengthMs: 8 * hour };
      writeTrail(home, [...busyTrail(home.work, busy), ...stretched(lines, eight)]);
    });
  });
  afterAll(() => long.dispose());

  test.each([
    { width: 400, dark: false },
    { width: 1200, dark: false },
    { width: 2000, dark: true },
  ])("pictures at $width", async size => {
    const page = await open(long, "timeline?last=24h", size);
    await picture(page, `timeline-hours-${size.width}`);
    await page.getByRole("button", { name: "7 days" }).click();
    await page.getByText("ann").first().waitFor();
    await picture(page, `timeline-busy-${size.width}`);
    await page.locator(".figure").first().click();
    await page.locator(".panel").waitFor();
    await picture(page, `timeline-panel-${size.width}`);
    expect(await violations(page)).toEqual([]);
    expect(
      await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"),
    ).toBe(false);
    expect(long.faults).toEqual([]);
  });

  test("a page has few of them at a time, and stays smooth", async () => {
    const page = await open(long, "timeline?last=7d", { width: 2000 });
    const list = page.locator(".row-list");
    await list.waitFor();
    const count = Number(await page.locator("section[aria-label=Decisions] .count").innerText());
    expect(count).toBeGreaterThan(5_000);
    expect(await list.locator("li").count()).toBeLessThan(120);
    expect(await nodes(page)).toBeLessThan(6_000);
    const scrolled = await frames(page, () => wheel(page, list, 40, false));
    expect(await list.evaluate(box => box.scrollTop)).toBeGreaterThan(1_000);
    expect(await list.locator("li").count()).toBeLessThan(120);
    await list.evaluate(box => box.scrollTo(0, box.scrollHeight));
    await list.locator(`li[aria-posinset="${count}"]`).waitFor();
    const zoomed = await frames(page, () => wheel(page, page.locator(".lanes"), 12, true));
    expect(await nodes(page)).toBeLessThan(6_000);
    console.log(`${count} decisions; scrolling: ${scrolled}; zooming: ${zoomed}`);
    expect(long.faults).toEqual([]);
  });
});

function nodes(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelectorAll("*").length);
}

/** Turns of the wheel over the middle of a part of the page. */
async function wheel(
  page: Page,
  part: ReturnType<Page["locator"]>,
  turns: number,
  hasCtrl: boolean,
): Promise<void> {
  await part.scrollIntoViewIfNeeded();
  const { x = 0, y = 0, width = 0, height = 0 } = (await part.boundingBox()) ?? {};
  await page.mouse.move(x + width * 0.7, y + height / 2);
  if (hasCtrl) await page.keyboard.down("Control");
  for (let turn = 0; turn < turns; turn += 1) await page.mouse.wheel(0, turn < turns / 2 ? -120 : 120);
  if (hasCtrl) await page.keyboard.up("Control");
}

/** How long frames took while something was done, in words. */
async function frames(page: Page, work: () => Promise<void>): Promise<string> {
  await page.evaluate(() => {
    const times: number[] = [];
    const next = (at: number) => {
      times.push(at);
      Object.assign(globalThis, { frameRequest: requestAnimationFrame(next), frameTimes: times });
    };
    requestAnimationFrame(next);
  });
  await work();
  const times: number[] = await page.evaluate(() => {
    const { frameRequest, frameTimes } = globalThis as unknown as {
      readonly frameRequest: number;
      readonly frameTimes: number[];
    };
    cancelAnimationFrame(frameRequest);
    return frameTimes;
  });
  const lengths = times.slice(1).map((at, n) => at - (times[n] ?? at));
  const ascending = lengths.sort((a, b) => a - b);
  const at = (share: number) => (ascending[Math.floor((ascending.length - 1) * share)] ?? 0).toFixed(1);
  return `${lengths.length} frames, median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms`;
}
