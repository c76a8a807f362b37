/** The person is one name on every screen, in the log and for agents; a person's mistakes are nobody's refusals. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { personName } from "../../protocol/names.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let alice: Client;
let user: string;

beforeAll(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q", home.work], { env: home.environment });
  await home.start();
  // The first command of this process says who the person is.
  await home.kite("status");
  user = personName();
  alice = await home.session("alice", { name: "alice", project: undefined });
});

afterAll(() => home.dispose());

async function lines(event: string): Promise<Message[]> {
  const all = (await home.kite("log", "--json")).trimEnd().split("\n");
  return all.map(line => JSON.parse(line) as Message).filter(line => line["event"] === event);
}

test("a refused unlock of a person is the person's, in the file's project, and no refusal of an agent", async () => {
  const ran = await home.command(["unlock", "--force", "typo.ts"]);
  expect(ran.code).toBe(1);
  await expect.poll(() => lines("file_unlock")).toHaveLength(1);
  expect((await lines("file_unlock"))[0]).toMatchObject({
    id: null,
    name: "a person at a terminal",
    file: join(home.work, "typo.ts"),
    decision: "deny",
    project: expect.stringContaining(home.work),
  });
  expect(await home.kite("log")).toMatch(new RegExp(`deny +${user} +file unlock +typo\\.ts`));
  expect(await home.kite("status")).not.toContain("Refused lately");
});

test("a forced unlock is in the log of the file's project, by the person's name", async () => {
  await alice.ask({ type: "file_lock", id: "alice", file: "held.ts" });
  await home.kite("unlock", "--force", "held.ts");
  await expect
    .poll(() => home.kite("log", "--file", "held.ts"))
    .toMatch(new RegExp(`allow +${user} +file unlock`));
});

test("a freeze is by the same name on the person's screens and for agents", async () => {
  await home.kite("freeze", "frozen.ts");
  expect(await home.kite("status")).toMatch(new RegExp(`frozen\\.ts +${user} `));
  await expect
    .poll(async () => (await home.command(["explain", "frozen.ts"])).out)
    .toContain(`${user} froze frozen.ts`);
  const agents = ["lock", "--wait", "0", "frozen.ts", "--", "true"];
  const refused = await home.command(agents, { KITE_SESSION: "alice" });
  expect(refused.err).toContain(`${user} froze ${home.work}/frozen.ts`);
  await home.kite("thaw");
});

test("a command's lock and a claimed task are by that name, too", async () => {
  await home.kite("task", "add", "sweep the floor");
  await home.kite("task", "claim", "1");
  expect(await home.kite("status", "--sessions")).toMatch(new RegExp(`^ +${user} `, "m"));
  expect(await home.kite("task", "show", "1")).toContain(user);
  expect(await home.kite("task", "show", "1")).not.toContain("@");
});
