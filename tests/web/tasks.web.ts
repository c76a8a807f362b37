/** Tasks as a person sees them: what is ready, what waits for what, live; and what a person does with one. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { bounds } from "../../bin/web/wire.ts";
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

const rows = (page: Page) => page.getByRole("region", { name: "List" }).getByRole("listitem");
const row = (page: Page, text: string) => rows(page).filter({ hasText: text });
const graph = (page: Page) => page.getByRole("region", { name: "Graph" });
const boxes = (page: Page) => page.locator(".box");
const placesOf = (page: Page) =>
  boxes(page).evaluateAll(all =>
    all.map(one => `${one.textContent?.slice(0, 8)} ${one.getAttribute("transform")}`),
  );

/** Opens the task and presses the button, and Yes; returns what came of it. */
async function act(page: Page, task: string, button: string): Promise<string> {
  await row(page, task).getByRole("button").first().click();
  await page.locator("section.one").getByRole("button", { name: button, exact: true }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  return answer(page);
}

/** What the dialog says that came of a deed; closes it. */
async function answer(page: Page): Promise<string> {
  await page.locator("dialog pre").waitFor();
  const said = await page.locator("dialog").innerText();
  await page.locator("dialog").getByRole("button", { name: "Close" }).click();
  return said;
}

describe("what is there", () => {
  let schema: string;

  beforeAll(async () => {
    schema = await alice.task("Write the schema", { labels: ["db"] });
    const api = await alice.task("Build the API", { dependsOn: [schema], risk: "yellow" });
    await alice.task("Build the page", { dependsOn: [api], labels: ["web"], priority: "high" });
    await alice.task("Write the manual", { dependsOn: [schema] });
    await alice.task("Tidy up");
  });

  test("a list and a graph follow an agent that claims and finishes; the layout stays", async () => {
    const page = await site.view("tasks");
    expect(await graph(page).innerText()).toMatch(/Critical path, 3 tasks one after the other: 1 → 2 → 3/);
    expect(await graph(page).innerText()).toContain("1 task without needs is in the list alone.");
    expect(await rows(page).allInnerTexts()).toEqual([
      expect.stringMatching(/ready[\s\S]*1[\s\S]*Write the schema/),
      expect.stringMatching(/ready[\s\S]*5[\s\S]*Tidy up/),
      expect.stringMatching(/blocked[\s\S]*3[\s\S]*Build the page[\s\S]*high[\s\S]*after 2/),
      expect.stringMatching(/blocked[\s\S]*2[\s\S]*Build the API[\s\S]*yellow[\s\S]*after 1/),
      expect.stringMatching(/blocked[\s\S]*4[\s\S]*Write the manual[\s\S]*after 1/),
    ]);
    const before = await placesOf(page);
    expect(before).toHaveLength(4);
    expect(await page.locator(".box.critical").count()).toBe(3);

    await bob.ask({ type: "task_claim", task: schema });
    await row(page, "Write the schema")
      .filter({ hasText: /active[\s\S]*bob/ })
      .waitFor();
    await page.locator(".box.active").filter({ hasText: "bob" }).waitFor();
    expect((await placesOf(page)).map(one => one.slice(2))).toEqual(before.map(one => one.slice(2)));
    await picture(page, "tasks-graph");

    await bob.ask({ type: "task_update", task: schema, status: "done", result: "four tables" });
    await row(page, "Write the schema").waitFor({ state: "detached" });
    expect(await graph(page).innerText()).toMatch(/Critical path, 2 tasks one after the other: 2 → 3/);
    expect(await graph(page).innerText()).toContain("1 done task left out.");
    await page.getByLabel("done ones, too").check();
    await row(page, "Write the schema")
      .filter({ hasText: /done[\s\S]*by bob/ })
      .waitFor();
    await page.locator(".box.done").waitFor();
    expect(new URL(page.url()).searchParams.get("done")).toBe("1");
  });

  test("text, label and state narrow it, and the address keeps them", async () => {
    const page = await site.view("tasks");
    await page.getByLabel("Text").fill("the");
    await row(page, "Tidy up").waitFor({ state: "detached" });
    const search = page.getByRole("search");
    await search.getByLabel("Label").selectOption("web");
    await search.getByLabel("State").selectOption("blocked");
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await boxes(page).allTextContents()).toEqual([
      expect.stringContaining("Build the API"),
      expect.stringContaining("Build the page"),
    ]);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      text: "the",
      label: "web",
      state: "blocked",
    });
    await page.reload();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await page.getByLabel("Text").inputValue()).toBe("the");
    await page.getByLabel("Text").fill("#5");
    await page.getByText("No task is like that.").waitFor();
    await search.getByLabel("Label").selectOption("");
    await search.getByLabel("State").selectOption("");
    await row(page, "Tidy up").waitFor();
  });

  test("opens a task with all that is known of it, and its neighbours", async () => {
    const page = await site.view("tasks");
    await row(page, "Build the page").getByRole("button").click();
    const one = page.getByRole("region", { name: "Task 3" });
    expect(await one.innerText()).toMatch(
      /Task 3[\s\S]*blocked[\s\S]*Build the page[\s\S]*priority\s+high[\s\S]*web/,
    );
    await one.getByRole("button", { name: /Build the API/ }).click();
    const other = page.getByRole("region", { name: "Task 2" });
    expect(await other.innerText()).toMatch(
      /needs[\s\S]*Write the schema[\s\S]*done[\s\S]*needed by[\s\S]*Build the page/,
    );
    await other.getByRole("button", { name: "What happened" }).click();
    expect(await answer(page)).toMatch(/Build the API/);
    expect(await violations(page)).toEqual([]);
  });

  test("is reached by keys alone", async () => {
    const page = await site.view("tasks");
    await page.getByLabel("Text").focus();
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    while (!(await focused()).includes("Tidy up")) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Task 5" }).waitFor();
    await expect.poll(focused).toMatch(/^Task 5/);
    const close = page.getByRole("button", { name: "Close" });
    while (!(await close.evaluate(one => one === document.activeElement))) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(focused).toMatch(/Tidy up/);
    while ((await page.locator(".box a:focus").count()) === 0) await page.keyboard.press("Tab");
    expect(await focused()).toMatch(/Build the API/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toMatch(/Build the page/);
    await page.keyboard.press("ArrowLeft");
    await expect.poll(focused).toMatch(/Build the API/);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Task 2" }).waitFor();
    // The drawing is one stop of Tab.
    await page.locator(".box a").first().focus();
    await page.locator('.box:first-of-type a[tabindex="0"]:focus').waitFor();
    await page.keyboard.press("Tab");
    expect(await page.locator(".box a:focus").count()).toBe(0);
  });
});

describe("what a person does", () => {
  test("adds a task with needs, labels and a risk, once", async () => {
    const page = await site.view("tasks");
    await page.getByText("Add a task").click();
    await page.getByLabel("What it is").fill("Deploy it");
    await page.getByLabel("Needs").fill("3, #4");
    await page.getByLabel("Labels").fill("ops, prod eu");
    await page.getByLabel("Risk").selectOption("red");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    expect(await page.locator("dialog").innerText()).toMatch(/Add to \S+: “Deploy it”\?/);
    await page.getByRole("button", { name: "Yes" }).dblclick();
    expect(await answer(page)).toMatch(/Done[\s\S]*task 6 is blocked, red/);
    await row(page, "Deploy it")
      .filter({ hasText: /red[\s\S]*after 3, 4/ })
      .waitFor();
    expect(await page.getByLabel("What it is").inputValue()).toBe("");
    const { tasks } = JSON.parse(await site.home.kite("task", "list", "--json"));
    const added = tasks.filter((one: { description: string }) => one.description === "Deploy it");
    expect(added).toMatchObject([{ labels: ["ops", "prod eu"], createdBy: null, risk: "red" }]);
  });

  test("is told a refusal in its words, and keeps what was written", async () => {
    const page = await site.view("tasks");
    await page.getByText("Add a task").click();
    await page.getByLabel("What it is").fill("Never");
    await page.getByLabel("Needs").fill("999");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Yes" }).click();
    expect(await answer(page)).toMatch(/Refused[\s\S]*999/);
    expect(await page.getByLabel("What it is").inputValue()).toBe("Never");
  });

  test("takes a task from its agent, approves one, and cancels one; the trail says who it was", async () => {
    const page = await site.view("tasks");
    const wipe = await alice.task("Drop the table", { risk: "critical" });
    await row(page, "Drop the table").filter({ hasText: "critical" }).waitFor();
    expect(await act(page, "Drop the table", "Approve")).toMatch(/Done[\s\S]*critical and approved/);
    await row(page, "Drop the table").filter({ hasText: "critical, approved" }).waitFor();
    expect(await page.locator("section.one").getByRole("button", { name: "Approve" }).count()).toBe(0);
    await page.locator("section.one").getByRole("button", { name: "Close" }).click();

    const open = await alice.task("Sort the imports");
    await bob.ask({ type: "task_claim", task: open });
    await row(page, "Sort the imports").filter({ hasText: "active" }).waitFor();
    expect(await act(page, "Sort the imports", "Release")).toMatch(/Done[\s\S]*is ready/);
    await row(page, "Sort the imports").filter({ hasText: "ready" }).waitFor();
    const names = await page.locator("section.one .buttons button").allInnerTexts();
    expect(names).toEqual(["Cancel", "What happened", "Close"]);
    await page.locator("section.one").getByRole("button", { name: "Close" }).click();

    expect(await act(page, "Drop the table", "Cancel")).toMatch(/Done[\s\S]*is failed/);
    await row(page, "Drop the table")
      .filter({ hasText: /failed[\s\S]*cancelled/ })
      .waitFor();
    const trail = async () => {
      const lines = (await site.home.kite("log", "--json")).trim().split("\n");
      const said = lines.map(line => JSON.parse(line)).filter(({ task }) => task === wipe || task === open);
      return said.map(({ event, name }) => [event, name]);
    };
    await expect.poll(trail).toEqual([
      ["task_create", "alice"],
      ["task_approve", "a person at a terminal"],
      ["task_create", "alice"],
      ["task_claim", "bob"],
      ["task_release", "a person at a terminal"],
      ["task_update", "a person at a terminal"],
    ]);
  });

  test("is not offered in an agent's page, which shows its own project alone", async () => {
    const elsewhere = join(site.home.root, "elsewhere");
    mkdirSync(elsewhere);
    const carol = await Agent.begin(site.home, "carol", elsewhere);
    await carol.task("A task of another project");
    for (const env of [{ KITE_SESSION: alice.id }, { CLAUDECODE: "1" }]) {
      const page = await site.view("tasks", { env });
      await row(page, "Tidy up").getByRole("button").click();
      await page.getByRole("region", { name: "Task 5" }).waitFor();
      const names = await page.locator("main").getByRole("button").allInnerTexts();
      expect(names).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/Add|Approve|Release|Cancel/)]),
      );
      expect(await page.locator("main").innerText()).not.toMatch(/Add a task|another project/);
      const refused = await page.evaluate(async () => {
        const { token } = JSON.parse(sessionStorage.getItem("pass") ?? "{}");
        const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
        const body = JSON.stringify({ deed: "task_cancel", task: "5", project: "x" });
        return (await fetch("/api/do", { method: "POST", headers, body })).status;
      });
      expect(refused).toBe(403);
      // The browser tells of the refusal, too.
      await expect.poll(() => site.faults).toEqual([expect.stringContaining("403")]);
      site.faults.splice(0);
    }
    const page = await site.view("tasks");
    await row(page, "A task of another project").waitFor();
  });
});

describe("foreign text", () => {
  test("is text in the list, the graph, the task and the questions", async () => {
    const { markup, turned, long, emoji } = hostile;
    const mallory = await Agent.begin(site.home, markup.slice(0, 60));
    const need = await mallory.task(`${markup}${turned}`, { labels: [markup.slice(0, 60)] });
    const other = await mallory.task(long, { dependsOn: [need] });
    await mallory.task(emoji, { dependsOn: [other] });
    await mallory.ask({ type: "task_claim", task: need });
    const page = await site.view("tasks");
    await row(page, "onerror").filter({ hasText: "active" }).waitFor();
    expect(await row(page, "onerror").innerText()).toContain(markup);
    await row(page, "onerror").getByRole("button").first().click();
    const one = page.locator("section.one");
    expect(await one.innerText()).toContain(`${markup}gnp.exe`);
    await one.getByRole("button", { name: "Cancel" }).click();
    await page.locator("dialog").getByRole("button", { name: "No" }).click();
    await one.getByRole("button", { name: "wwww" }).click();
    await page.locator("section.one p").filter({ hasText: long }).waitFor();
    await page.getByText("Add a task").click();
    await page.getByLabel("What it is").fill(markup);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    expect(await page.locator("dialog").innerText()).toContain(markup);
    await page.getByRole("button", { name: "Yes" }).click();
    await answer(page);
    await picture(page, "tasks-hostile");
    expect(await page.title()).toBe("Kite");
    expect(await page.locator("main :is(img, script, b)").count()).toBe(0);
    expect(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText))).toBe(
      false,
    );
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth),
    ).toBe(false);
    expect(await violations(page)).toEqual([]);
  });
});

/** Runs before the page's own program: notes when rows and boxes are first there, and how long its longest work took. */
function watchFirstRender(): void {
  const seen = { row: 0, box: 0, longest: 0 };
  Object.assign(globalThis, { seen });
  new MutationObserver(() => {
    seen.row ||= document.querySelector(".row-list li") === null ? 0 : performance.now();
    seen.box ||= document.querySelector(".box") === null ? 0 : performance.now();
  }).observe(document, { childList: true, subtree: true });
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) seen.longest = Math.max(seen.longest, duration);
  }).observe({ type: "longtask", buffered: true });
}

test("of two thousand tasks only those in sight are in the page, and all can be reached", async () => {
  const many = join(site.home.root, "many");
  mkdirSync(many);
  const dora = await Agent.begin(site.home, "dora", many);
  for (let batch = 0; batch < 4; batch += 1) {
    const tasks = Array.from({ length: 500 }, (_, n) => ({
      description: `Task ${batch * 500 + n}`,
      name: `n${n}`,
      dependsOn: n < 20 ? [] : [`n${n - 20}`, ...(n % 3 === 0 ? [`n${n - 7}`] : [])],
    }));
    await dora.ask({ type: "task_create", tasks });
  }
  const page = await site.view("tasks", { args: ["--project", many], script: watchFirstRender });
  await boxes(page).first().waitFor();
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: object }).seen);
  console.log(`2,000 tasks, in ms since the page was opened: ${JSON.stringify(seen)}`);
  expect(await rows(page).count()).toBeLessThan(60);
  expect(await boxes(page).count()).toBeLessThanOrEqual(200);
  expect(await graph(page).innerText()).toContain(
    "The drawing is full: 1800 tasks farther from the critical path",
  );
  await picture(page, "tasks-many");
  const isInSight = (one: Element) => {
    const [inner, outer] = [one, one.closest("figure") ?? one].map(element =>
      element.getBoundingClientRect(),
    );
    return (
      inner !== undefined &&
      outer !== undefined &&
      inner.left >= outer.left &&
      inner.top >= outer.top &&
      inner.bottom <= outer.bottom
    );
  };
  expect(await page.locator(".box.critical").first().evaluate(isInSight)).toBe(true);
  const list = page.locator(".row-list");
  expect(await rows(page).first().getAttribute("aria-setsize")).toBe("2000");
  await list.evaluate(box => box.scrollTo(0, box.scrollHeight));
  await rows(page).locator('xpath=self::*[@aria-posinset="2000"]').waitFor();
  expect(await rows(page).count()).toBeLessThan(60);
  await page.getByLabel("Text").fill("Task 1999");
  await expect.poll(() => rows(page).count()).toBe(1);
  expect(await boxes(page).count()).toBeGreaterThan(20);
});

test("of more tasks than the page takes, the open ones are there, and it says that others are not", async () => {
  const old = join(site.home.root, "old");
  mkdirSync(old);
  const erin = await Agent.begin(site.home, "erin", old);
  for (let batch = 0; batch <= bounds.tasksMax / 1_000; batch += 1) {
    const tasks = Array.from({ length: 1_000 }, (_, n) => ({
      id: `t-${batch}-${n}`,
      description: `Old ${batch} ${n}`,
      status: "done",
      createdAt: batch * 1_000 + n,
    }));
    await erin.ask({ type: "task_import", tasks });
  }
  await erin.task("The newest");
  const page = await site.view("tasks", { args: ["--project", old] });
  await row(page, "The newest").waitFor();
  expect(await rows(page).count()).toBe(1);
  await page.getByText(`The page has ${bounds.tasksMax} tasks, open ones first`).waitFor();
});
