/** The page on a machine that shares a store with another one: what it says of the store, and who works elsewhere. */
import { afterEach, expect, test } from "vitest";
import { database, Machine } from "../end-to-end/store-machine.ts";
import { withServer } from "../store/postgres-world.ts";
import { picture, Site } from "./browser.ts";
import { violations } from "./violations.ts";

let site: Site | null = null;
afterEach(() => site?.dispose());

await withServer("the page of a machine that shares a store", server => {
  test("names the store's machines and the agents there, and says when it is away", async () => {
    const url = await database(server);
    const [a, b] = [await new Machine().start(), await new Machine().start()];
    for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
    site = await Site.at(a.home);
    const page = await site.view("now");
    await page.getByText(/^Store kite@\S+: 2 machines: /).waitFor();
    const far = page.getByRole("region", { name: "On 1 other machine" });
    expect(await far.count()).toBe(0);

    const bob = await b.home.connect();
    await bob.ask({ type: "register", id: "bob", cwd: b.repo, name: "bob" });
    await b.kite("task", "add", "Page <the> list");
    await bob.ask({ type: "task_claim", id: "bob" });
    await b.kite("role", "bob", "reviewer");
    await far.waitFor();
    await far.getByText("reviewer").waitFor();
    expect(await far.innerText()).toMatch(/bob@[\s\S]*reviewer[\s\S]*main[\s\S]*Page <the> list/);
    await picture(page, "store");

    await server.stop();
    const away = page
      .getByRole("status")
      .filter({ hasText: /^store away since \d\d:\d\d \(.+\): tasks and messages as of then; edits/ });
    await away.waitFor();
    await picture(page, "store-away");
    // Without the daemon nobody coordinates edits.
    await a.kite("down", "--yes");
    await page.getByRole("alert").waitFor();
    await away.waitFor({ state: "detached" });
    expect(site.faults).toEqual([]);
    await server.start();
  });

  test("names merges of another machine while they wait and run", async () => {
    const url = await database(server);
    const [a, b] = [await new Machine().start(), await new Machine().start()];
    for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
    const bob = await b.home.connect();
    await bob.ask({ type: "register", id: "bob", cwd: b.repo, name: "bob" });
    site = await Site.at(a.home);
    const merges = [{ branch: "refs/heads/login", author: { id: "bob" } }];
    await bob.ask({ type: "merge_queue", id: "bob", runner: "r", base: "refs/heads/main", merges });
    const agents = await site.view("agents", { width: 400 });
    const there = agents.getByRole("region", { name: "Merges on other machines" });
    await there.waitFor();
    expect(await there.innerText()).toMatch(/login[\s\S]*queued[\s\S]*main[\s\S]*bob/);
    await picture(agents, "merges-elsewhere-400");
    expect(await violations(agents)).toEqual([]);
    await bob.ask({ type: "merge_take", id: "bob", runner: "r", base: "refs/heads/main" });
    await there.getByText("running").waitFor();
    await bob.ask({ type: "merge_cancel", id: "bob", runner: "r" });
    await there.waitFor({ state: "detached" });

    expect(site.faults).toEqual([]);
  });

  test("says nothing of a store where none is set", async () => {
    const machine = await new Machine().start();
    site = await Site.at(machine.home);
    const page = await site.view("now");
    await page.getByText("No agent is registered").waitFor();
    expect(await page.locator("body").innerText()).not.toMatch(/store|machine/i);
    expect(site.faults).toEqual([]);
  });
});
