/** The page as a person meets it first: who is there, who waits for whom, live. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../end-to-end/daemon.ts";
import { picture, Site } from "./browser.ts";

let site: Site;
let alice: Client;
let bob: Client;

beforeAll(async () => {
  site = await Site.start();
  alice = await site.home.session("11111111-1111-4111-8111-111111111111", { name: "alice" });
  bob = await site.home.session("22222222-2222-4222-8222-222222222222", { name: "bob" });
});
afterAll(() => site.dispose());

test("a file that one has and another one waits for is first, and goes when it is free", async () => {
  const page = await site.view("now");
  await alice.ask({
    type: "file_lock",
    id: "11111111-1111-4111-8111-111111111111",
    file: "a.ts",
    cwd: site.home.work,
  });
  bob.send({
    type: "file_lock",
    id: "22222222-2222-4222-8222-222222222222",
    file: "a.ts",
    cwd: site.home.work,
    waitMs: 60_000,
  });
  const dispute = page.getByRole("region", { name: "Files in dispute" });
  await dispute.waitFor();
  expect(await dispute.innerText()).toMatch(/a\.ts[\s\S]*alice has it[\s\S]*bob waits/);
  await picture(page, "now");
  await alice.ask({
    type: "file_unlock",
    id: "11111111-1111-4111-8111-111111111111",
    file: "a.ts",
    cwd: site.home.work,
  });
  await dispute.waitFor({ state: "detached" });
  expect(site.faults).toEqual([]);
});
