/** Tasks of the real client's own list: who may go on with one, and who may end it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

const todo = { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" };
const teams = { ...todo, CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: "1" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
});
afterEach(() => world.dispose());

const search = (id: string) =>
  call(id, "ToolSearch", { query: "select:TaskCreate,TaskUpdate", max_results: 5 });
const create = (id: string, subject: string) =>
  call(id, "TaskCreate", { subject, description: `do ${subject}` });
const update = (id: string, taskId: string, more: object) => call(id, "TaskUpdate", { taskId, ...more });
const agentInput = (name: string) => ({ description: name, prompt: `[[agent:${name}]] you are ${name}` });

test("a session goes on with what its subagent began, and the subagent ends what the session began", async () => {
  const sub = { description: "Look", prompt: "Look at it.", subagent_type: "general-purpose" };
  const session = await world.session(
    "one",
    [
      search("toolu_tools"),
      create("toolu_t1", "the schema"),
      create("toolu_t2", "the API"),
      update("toolu_begin", "2", { status: "in_progress" }),
      call("toolu_sub", "Agent", { ...sub, run_in_background: false }),
      search("toolu_sub_tools"),
      update("toolu_sub_begin", "1", { status: "in_progress" }),
      update("toolu_sub_take", "2", { status: "in_progress" }),
      update("toolu_sub_mark", "2", { status: "completed" }),
      say("Over."),
      update("toolu_back", "1", { status: "in_progress" }),
      update("toolu_done", "1", { status: "completed" }),
      say("Done."),
    ],
    { env: todo },
  );
  expect(await session.ended).toBe(0);
  const updates = ["toolu_sub_begin", "toolu_sub_take", "toolu_sub_mark", "toolu_back", "toolu_done"];
  const results = updates.map(id => session.model.result(id));
  const passed = { text: expect.stringContaining("Updated task"), isError: false };
  expect(results).toEqual(updates.map(() => passed));
});

test("a lead gives a task in the message that begins a teammate, and ends it; another teammate does not", async () => {
  const [begun, over] = [new Moment(), new Moment()];
  const lead = await world.interactive(
    "lead",
    [
      search("toolu_tools"),
      create("toolu_t1", "the schema"),
      {
        calls: [
          { id: "toolu_alice", name: "Agent", input: { ...agentInput("alice"), name: "alice" } },
          { id: "toolu_give", name: "TaskUpdate", input: { taskId: "1", owner: "alice" } },
        ],
      },
      begun.before(call("toolu_bob", "Agent", { ...agentInput("bob"), name: "bob" })),
      over.before(update("toolu_done", "1", { status: "completed" })),
      say("Done."),
    ],
    {
      env: teams,
      mates: {
        alice: [
          search("toolu_alice_tools"),
          update("toolu_alice_begin", "1", { status: "in_progress" }),
          say("Begun."),
          say("Still at it."),
        ],
        bob: [
          search("toolu_bob_tools"),
          update("toolu_bob_done", "1", { status: "completed" }),
          say("No."),
          say("No."),
        ],
      },
    },
  );
  const { model } = lead;
  await model.asked(3, "alice");
  expect(model.result("toolu_give").text).not.toContain("Kite");
  expect(model.result("toolu_alice_begin").text).not.toContain("Kite");
  begun.reached();
  await model.asked(3, "bob");
  expect(model.result("toolu_bob_done").text).toContain('"alice" works on task 1');
  over.reached();
  await model.asked(6);
  expect(model.result("toolu_done").text).not.toContain("Kite");
});
