/** A page whose daemon a person has stopped: nothing that is clicked there starts it again. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const home = new Home();
const alice = "11111111-1111-4111-8111-111111111111";
let site = "";
let token = "";

beforeAll(async () => {
  await home.start();
  const client = await home.session(alice, { name: "alice", project: home.work });
  await client.ask({ type: "file_lock", id: alice, file: "a.ts", cwd: home.work });
  const web = home.startKite(["web", "--json"]);
  const [line] = await once(web.stdout.setEncoding("utf8"), "data");
  const { address } = JSON.parse(line);
  const [base = "", code] = address.split("/#");
  site = base;
  const traded = await fetch(`${site}/token`, { method: "POST", body: JSON.stringify({ code }) });
  ({ token } = (await traded.json()) as { token: string });
  await home.command(["down", "--yes"]);
});
afterAll(() => home.dispose());

const headers = () => ({ Authorization: `Bearer ${token}`, "Content-Type": "application/json" });

const project = home.work;
const deeds = [
  { deed: "unlock", file: `${home.work}/a.ts`, project },
  { deed: "thaw", hold: "h-1", project },
  { deed: "answer", message: "m-1", text: "yes", project },
  { deed: "send", to: "alice", text: "go on", project },
  { deed: "send", to: null, text: "go on", project },
  { deed: "task_add", description: "one", needs: "", labels: "", risk: "green", project },
  { deed: "task_release", task: "1", project },
  { deed: "task_approve", task: "1", project },
  { deed: "task_cancel", task: "1", project },
] as const;

test.each(deeds)("$deed says that Kite is down, and leaves it so", async deed => {
  const body = JSON.stringify(deed);
  const answer = await fetch(`${site}/api/do`, { method: "POST", headers: headers(), body });
  expect(await answer.json()).toEqual({
    ok: false,
    text: "kite: Kite is not running. Start it: kite up",
  });
  expect(existsSync(home.paths.downFile)).toBe(true);
  expect((await home.command(["status"])).out).toContain("Kite is not running");
});

test.each(["explain?kind=agent&name=alice", `value?key=port&project=${project}`, "timeline?from=1"])(
  "a question (%s) starts no daemon",
  async question => {
    const answer = await fetch(`${site}/api/${question}`, { headers: headers() });
    await answer.text();
    expect((await home.command(["status"])).out).toContain("Kite is not running");
  },
);
