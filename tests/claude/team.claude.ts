/** Teams of the real client: it would let all of this through, and Kite refuses it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TeamRow } from "../../protocol/lead/team.ts";
import type { ScriptedModel, Turn } from "./model.ts";
import { hasTmux } from "./panes.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

const env = { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: "1", CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" };
const tools = "select:TaskCreate,TaskUpdate,TaskStop,SendMessage,EnterWorktree";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
});
afterEach(() => world.dispose());

const search = (id: string) => call(id, "ToolSearch", { query: tools, max_results: 10 });
const create = (id: string, subject: string) =>
  call(id, "TaskCreate", { subject, description: `do ${subject}` });
const update = (id: string, taskId: string, more: object) => call(id, "TaskUpdate", { taskId, ...more });
const begin = (id: string, taskId: string, owner: string) =>
  update(id, taskId, { status: "in_progress", owner });
const write = (id: string, to: string) =>
  call(id, "SendMessage", { to, summary: "note", message: "how far?" });
const spawn = (id: string, name: string): Turn =>
  call(id, "Agent", { description: name, prompt: `[[agent:${name}]] you are ${name}`, name });

const told = (model: ScriptedModel) => [...model.notes, ...model.prompts].join("\n");

async function team(): Promise<TeamRow> {
  const [row] = JSON.parse(await world.kite("team", "--json")).teams;
  return row;
}

test("in one process: a blocked claim, a stolen task and a moved worktree are refused, an orphan is told", async () => {
  const [claimed, stolen, blocked, over] = [new Moment(), new Moment(), new Moment(), new Moment()];
  const lead = await world.interactive(
    "lead",
    [
      search("toolu_lead_tools"),
      create("toolu_t1", "the schema"),
      create("toolu_t2", "the API"),
      update("toolu_link", "2", { addBlockedBy: ["1"] }),
      update("toolu_cycle", "1", { addBlockedBy: ["2"] }),
      spawn("toolu_alice", "alice"),
      spawn("toolu_bob", "bob"),
      stolen.before(call("toolu_stop", "TaskStop", { task_id: "alice" })),
      write("toolu_bob_letter", "bob"),
      over.before(say("Done.")),
    ],
    {
      env,
      mates: {
        alice: [
          search("toolu_alice_tools"),
          begin("toolu_alice_claim", "1", "alice"),
          begin("toolu_alice_blocked", "2", "alice"),
          call("toolu_alice_moves", "EnterWorktree", { name: "alices" }),
          over.before(say("Over.")),
        ],
        bob: [
          claimed.before(search("toolu_bob_tools")),
          begin("toolu_bob_steals", "1", "bob"),
          blocked.before(say("No.")),
        ],
      },
    },
  );
  const { model } = lead;
  await model.asked(5, "alice");
  expect(model.result("toolu_cycle").text).toContain("closes a cycle");
  expect(model.result("toolu_alice_claim").text).not.toContain("Kite");
  expect(model.result("toolu_alice_blocked").text).toContain(
    'it waits for 1 "the schema" (in progress, "alice" owns it)',
  );
  expect(model.result("toolu_alice_moves").text).toContain("would move the whole session");
  claimed.reached();
  await model.asked(3, "bob");
  expect(model.result("toolu_bob_steals").text).toContain('"alice" works on task 1');
  const row = await team();
  expect(row.members.map(({ name, backend }) => [name, backend])).toEqual([
    ["team-lead", "lead"],
    ["alice", "in_process"],
    ["bob", "in_process"],
  ]);
  expect(row.tasks).toMatchObject([
    { task: "1", status: "in_progress", owner: "alice" },
    { task: "2", status: "pending", waitsFor: ["1"] },
  ]);
  expect(row.problems).toEqual([]);
  stolen.reached();
  await model.asked(10);
  expect(model.result("toolu_stop").isError).toBe(false);
  expect(told(model)).toContain('your teammate "alice" is gone');
  expect(told(model)).toContain('1 "the schema"');
  expect((await team()).problems.map(({ what }) => what)).toContain("unknown_owner");
  blocked.reached();
  over.reached();
});

test.skipIf(!hasTmux())(
  "in panes: names, a dead letter is refused, and the dead teammate's task is told",
  async () => {
    const [killed, over] = [new Moment(), new Moment()];
    const lead = await world.panes(
      "lead",
      [
        search("toolu_lead_tools"),
        create("toolu_t1", "the schema"),
        spawn("toolu_alice", "alice"),
        killed.before(write("toolu_letter", "alice")),
        over.before(say("Done.")),
      ],
      {
        env,
        mates: {
          alice: [
            search("toolu_alice_tools"),
            begin("toolu_alice_claim", "1", "alice"),
            over.before(say("Over.")),
          ],
        },
      },
    );
    const { model } = lead;
    await model.asked(3, "alice").catch((error: unknown) => {
      throw new Error(lead.screen(), { cause: error });
    });
    const { sessions } = await world.status();
    const alice = sessions.find(({ name }) => name === "alice");
    expect(alice?.teammate).toMatchObject({ name: "alice", lead: lead.id });
    if (alice?.pid === undefined || alice.pid === null) throw new Error("alice has no process");
    process.kill(alice.pid, "SIGKILL");
    while ((await world.status()).sessions.some(({ name }) => name === "alice"));
    killed.reached();
    await model.asked(5);
    expect(model.result("toolu_letter").text).toContain('"alice" has ended');
    expect(told(model)).toContain('your teammate "alice" is gone: its process died');
    expect(told(model)).toContain('1 "the schema"');
    const row = await team();
    expect(row.members.find(({ name }) => name === "alice")).toMatchObject({
      backend: "pane",
      state: "died",
    });
    // What she had not read when she died is a problem of its own.
    expect(row.problems.map(({ what }) => what)).toContain("dead_owner");
    over.reached();
  },
);

if (!hasTmux()) console.log("SKIPPED: teams in panes, since tmux is not on this machine");
