import { describe, expect, it } from "vitest";
import { Outbox } from "../../daemon/engine/answers.ts";

function world(turnMax?: number) {
  let tasks: (() => void)[] = [];
  const outbox = new Outbox(task => tasks.push(task), turnMax);
  const sent: string[] = [];
  const turn = () => {
    const due = tasks;
    tasks = [];
    for (const task of due) task();
    return due.length;
  };
  return { outbox, sent, turn, put: (name: string) => outbox.put(() => sent.push(name)) };
}

describe("the outbox", () => {
  it("lets out at once what no disk has to know of", () => {
    const { outbox, sent, put } = world();
    expect(outbox.entered(1, { type: "lock_request" })).toBe(false);
    put("lock");
    expect(sent).toEqual(["lock"]);
  });

  it("tells context that is to last from context that is not, and waits for every message", () => {
    const { outbox, sent, put } = world();
    expect(outbox.entered(1, { type: "context_set", durable: false })).toBe(false);
    put("in memory");
    expect(outbox.entered(2, { type: "context_set", durable: true })).toBe(true);
    put("durable");
    expect(sent).toEqual(["in memory"]);
    for (const type of ["message_send", "message_ack", "broadcast", "context_delete"] as const) {
      expect(outbox.entered(3, { type }), type).toBe(true);
    }
    expect(outbox.entered(4, { type: "inbox_take" })).toBe(false);
  });

  it("holds an entry of the disk class and all behind it until that entry is durable, in order", () => {
    const { outbox, sent, put } = world();
    expect(outbox.entered(1, { type: "daemon_started" })).toBe(true);
    put("start");
    outbox.entered(2, { type: "lock_request" });
    put("lock");
    expect(outbox.entered(3, { type: "rules" })).toBe(true);
    put("rules");
    outbox.durable(0);
    expect(sent).toEqual([]);
    outbox.durable(2);
    expect(sent).toEqual(["start", "lock"]);
    outbox.durable(3);
    expect(sent).toEqual(["start", "lock", "rules"]);
    put("later");
    expect(sent.at(-1)).toBe("later");
  });

  it("takes no step back when an older sync is told late", () => {
    const { outbox, sent, put } = world();
    outbox.durable(5);
    outbox.durable(2);
    outbox.entered(4, { type: "rules" });
    put("rules");
    expect(sent).toEqual(["rules"]);
  });

  it("holds everything behind an entry that threw until the log says that it is void", () => {
    const { outbox, sent, put } = world();
    put("before");
    outbox.threw(2);
    put("answer");
    put("behind");
    outbox.durable(9);
    outbox.voided(7);
    expect(sent).toEqual(["before"]);
    outbox.voided(2);
    expect(sent).toEqual(["before", "answer", "behind"]);
  });

  it("waits for every one of several that threw, and for the disk as well", () => {
    const { outbox, sent, put } = world();
    outbox.threw(1);
    outbox.threw(2);
    outbox.entered(3, { type: "rules" });
    put("rules");
    outbox.voided(1);
    outbox.durable(3);
    expect(sent).toEqual([]);
    outbox.voided(2);
    expect(sent).toEqual(["rules"]);
  });

  it("sends so many a turn, in order, and asks for no turn without need", () => {
    const { outbox, sent, turn, put } = world(2);
    for (const name of ["a", "b", "c", "d", "e"]) put(name);
    expect(sent).toEqual(["a", "b"]);
    expect(turn()).toBe(1);
    put("f");
    expect(sent).toEqual(["a", "b", "c", "d"]);
    turn();
    expect(sent).toEqual(["a", "b", "c", "d", "e", "f"]);
    turn();
    expect(turn()).toBe(0);
    expect([outbox.claim(3), outbox.claim(2), outbox.claim(1)]).toEqual([false, true, false]);
    put("g");
    expect(sent.at(-1)).toBe("f");
    turn();
    expect(sent.at(-1)).toBe("g");
  });

  it("sends no more in a turn for what the disk says, and keeps what is not durable through its turns", () => {
    const { outbox, sent, turn, put } = world(2);
    outbox.entered(1, { type: "rules" });
    for (const name of ["a", "b", "c"]) put(name);
    outbox.entered(2, { type: "rules" });
    put("d");
    expect(turn()).toBe(0);
    outbox.durable(1);
    expect(sent).toEqual(["a", "b"]);
    turn();
    turn();
    expect(sent).toEqual(["a", "b", "c"]);
    outbox.durable(2);
    expect(sent).toEqual(["a", "b", "c", "d"]);
  });

  it("sends behind the others what is put while it sends", () => {
    const { outbox, sent, turn, put } = world(1);
    put("a");
    outbox.put(() => {
      sent.push("b");
      put("d");
    });
    put("c");
    for (let n = 0; n < 4; n += 1) turn();
    expect(sent).toEqual(["a", "b", "c", "d"]);
  });

  it("sends at a stop whatever is durable, at once", () => {
    const { outbox, sent, put } = world(1);
    for (const name of ["a", "b", "c"]) put(name);
    outbox.entered(1, { type: "rules" });
    put("d");
    outbox.flush();
    expect(sent).toEqual(["a", "b", "c"]);
    outbox.durable(1);
    expect(sent).toEqual(["a", "b", "c", "d"]);
  });
});
