/** A session in a terminal: the client says so to its hooks, and only there it is woken. */
import { expect, test } from "vitest";
import { nameOfId } from "../session-name.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

/** The limit comes soon. The yield has to be shorter, and does not come: what is in flight does not yield. */
const impatient = { KITE_LOCK_WAIT_MS: "2000", KITE_YIELD_MS: "1500" };

test("a session that stopped because of a refused file is woken when it is free, and edits it", async () => {
  const world = await World.create(programs);
  try {
    world.write("shared.txt", "one\ntwo\nthree\n");
    const file_path = world.path("shared.txt");
    const watch = await world.up(impatient);
    const { settings, release } = await world.holdingEdits();
    const first = await world.session(
      "first",
      [
        call("toolu_first_1", "Read", { file_path }),
        call("toolu_first_2", "Edit", { file_path, old_string: "one", new_string: "ONE" }),
        say("Done."),
      ],
      { settings },
    );
    await watch.granted(first.id);
    const stopped = new Moment();
    const awake = new Moment();
    const second = await world.interactive("second", [
      call("toolu_second_1", "Read", { file_path }),
      call("toolu_second_2", "Edit", { file_path, old_string: "three", new_string: "THREE" }),
      stopped.before(say("The file is not to be had.")),
      awake.before(call("toolu_second_3", "Read", { file_path })),
      call("toolu_second_4", "Edit", { file_path, old_string: "three", new_string: "THREE" }),
      say("Now it is done."),
    ]);
    await second.asked(3);
    expect(second.model.result("toolu_second_2")).toMatchObject({ isError: true });
    const before = second.model.prompts.length;
    stopped.reached();
    // The end of a turn has no event of its own: this asks again.
    while (!(await world.status()).sessions.some(s => s.id === second.id && s.status === "idle"));
    expect(second.model.askedAtMs).toHaveLength(3);

    await release();
    expect(await first.ended).toBe(0);
    await second.asked(4);
    // The client says so in an event of its own, beside its question to the model.
    while (!(await world.status()).sessions.some(s => s.id === second.id && s.status === "active"));
    awake.reached();
    const [woken] = second.model.prompts.slice(before);
    // The client says itself that this is no word of a person's.
    expect(woken).toContain("NOT USER INPUT");
    expect(woken).toMatch(
      new RegExp(
        `Kite: a file that you were refused is free now\\.\n.*"${nameOfId(first.id)}" no longer holds "shared\\.txt"\\.\n` +
          "It is not locked for you, and may have changed: read it again before you edit it\\.",
      ),
    );
    await second.asked(6);
    expect(second.model.result("toolu_second_4")).toMatchObject({ isError: false });
    expect(world.read("shared.txt")).toBe("ONE\ntwo\nTHREE\n");
    expect(second.model.surprises).toEqual([]);
  } finally {
    await world.dispose();
  }
});
