/**
 * Nodes with a log of their own each, and one log that they share, in one world without time: every reordering between the
 * logs, and what a crash, a power cut, a lost answer or a long silence leaves of them. What happens is drawn from a seed.
 */

import type { OutboxNumber } from "../../../daemon/core/nodes/commands.ts";
import { isAfter } from "../../../daemon/core/nodes/table.ts";
import { rulesLevel } from "../../../daemon/core/tables/base-state.ts";
import type { Command, Proposal } from "../../../daemon/core/tables/entries.ts";
import { noteKey } from "../../../daemon/core/tables/messages.ts";
import type { Session } from "../../../daemon/core/tables/sessions.ts";
import { limits } from "../../../protocol/limits.ts";
import { Random } from "../random.ts";
import { differences, overlapsOver, rolesOf, undeclared } from "./differences.ts";
import { Log } from "./log.ts";
import { MergesTold, mergeComesBack, unknownMerges } from "./merges.ts";
import { Node, type Sent } from "./node.ts";

const projects = [
  ["/p", "example.com/p"],
  ["/q", "example.com/q"],
] as const;
const sessionNames = ["s1", "s2", "s3", "s4"] as const;
const fileNames = ["a.ts", "src/b.ts", "src"] as const;
const agentIds = ["first-agent", "other-agent", "third-agent"] as const;

/** What happens in some of the histories alone. */
export type Also = "merge" | "lost declaration";

export class TwoLogs {
  readonly #random: Random;
  readonly shared = new Log();
  readonly nodes = ["a", "b", "c"].map(id => new Node(id));
  /** The start of each node that renewed its lease last. */
  readonly #renewed = new Map<string, number>();
  /** Sent, and given up: they arrive at any time, or never. */
  #late: Sent[] = [];
  #epoch = 0;
  #n = 0;
  readonly #merges = new MergesTold();
  readonly seen = new Map<string, number>();

  readonly #also: readonly Also[];

  /** `also`: what happens besides, so that histories without it stay as they are. */
  constructor(seed: number, also: readonly Also[] = []) {
    this.#random = new Random(seed);
    this.#also = also;
    for (const node of this.nodes) {
      node.start();
      node.do({ type: "sharing_set", node: node.id, projects, level: rulesLevel });
      this.#join(node);
    }
  }

  run(steps: number): void {
    for (let left = steps; left > 0; left -= 1) this.#step();
    this.#settle();
  }

  /** Yields what is wrong once everything that was sent has arrived. */
  *wrong(): Generator<string> {
    const { sessions, tasks } = this.shared.state;
    for (const node of this.nodes) {
      yield* unknownMerges(node, this.shared.state);
      const { told } = node;
      const known = [...sessions.live.values()].filter(session => session.node === node.id);
      for (const session of known) {
        const { id } = session;
        const own = told.get(id);
        if (own === undefined) yield `${id} lives in the shared log alone`;
        else {
          yield* differences(own, session, node.id);
          const [is, told] = [rolesOf(node.log.state, own), rolesOf(this.shared.state, session)];
          if (is !== told) yield `${id} has the roles ${is}, and in the shared log ${told}`;
          yield* undeclared(node.log.state, own, this.shared.state, id);
        }
        told.delete(id);
      }
      for (const id of told.keys()) yield `${id} is not in the shared log`;
    }
    yield* overlapsOver(this.shared.state);
    for (const session of tasks.claims.keys())
      if (!sessions.live.has(session)) yield `${session} has a claim, and does not live`;
  }

  #step(): void {
    const random = this.#random;
    const node = random.pick(this.nodes);
    const [what] = random.pick([
      ...Array.from({ length: 8 }, () => ["live"] as const),
      ...Array.from({ length: 10 }, () => ["arrive"] as const),
      ...Array.from({ length: 4 }, () => ["relay"] as const),
      ...Array.from({ length: 5 }, () => ["speak"] as const),
      ...Array.from({ length: 3 }, () => ["late"] as const),
      ...this.#also.flatMap(one => [[one] as const, [one] as const]),
      ["renew"] as const,
      ["restart"] as const,
      ["silence"] as const,
    ]);
    if (what === "live") {
      const session = random.pick(sessionNames);
      for (let left = random.int(1, 3); left > 0; left -= 1) this.#live(node, session);
    } else if (what === "arrive") this.#arrive(node);
    else if (what === "relay") node.send(...node.rows);
    else if (what === "speak") this.#speak(node);
    else if (what === "late") this.#arriveLate();
    else if (what === "merge") {
      this.#n += 1;
      mergeComesBack(node, this.#n);
    } else if (what === "lost declaration") this.#loseDeclaration(node);
    else if (what === "renew") this.#renew(node);
    else if (what === "restart") this.#restart(node);
    else this.#silence();
  }

  /** Something happens to a session in its node's own log. */
  #live(node: Node, session: string): void {
    const random = this.#random;
    const [project] = random.pick([...projects, ["/alone"]]);
    const pid = random.int(1, 3);
    const begin: Extract<Command, { type: "session_begin" }> = {
      type: "session_begin",
      session,
      anchor: { pid, startTime: `${pid}` },
      ...{ cwd: project, worktree: project, project, branch: random.pick(["main", null]), revive: true },
      name: random.chance(0.5) ? random.pick(["alice", "bob"]) : null,
      ...(random.chance(0.5) ? { client: random.pick(["codex", "gemini"]) } : {}),
      wallMs: 1,
    };
    const live = node.log.state.sessions.live.get(session);
    const what = random.pick(["begin", "rename", "move", "end", "agent", "agent", "role", "declare", "lost"]);
    if (live === undefined || what === "begin") node.do(begin);
    else if (what === "rename") {
      const name = random.pick(["carol", "dave", "erin"]);
      node.do({ type: "session_rename", by: null, of: session, name, project: live.project });
    } else if (what === "agent") {
      const agent = random.pick(agentIds);
      const isEnd = live.agents.has(agent) && random.chance(0.5);
      const isStopped = random.chance(0.2) ? ({ stopped: true } as const) : {};
      if (isEnd) node.do({ type: "agent_end", actor: { session, agent, incarnation: 0 }, ...isStopped });
      else node.do({ type: "agent_begin", session, agent, name: random.pick([null, "Explore", "Plan"]) });
    } else if (what === "role") {
      const agent = random.pick([null, ...live.agents.keys()]);
      const name = agent === null ? live.name : `${live.name}/${live.agents.get(agent) ?? agent}`;
      const role = random.pick([null, "tester", "reviewer", "lead"] as const);
      const said = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: 1 };
      if (random.chance(0.7)) node.do({ type: "role_set", by: null, name, role, project: live.project });
      else node.do({ type: "declare", actor: { session, agent, incarnation: 0 }, role: role ?? "", ...said });
    } else if (what === "declare") this.#declare(node, live);
    else if (what === "lost") {
      const { client, lostAt, begun } = live;
      // A process that says nothing of its session's life belongs to a client that is known.
      const isIdle = client === undefined ? {} : ({ isIdle: true } as const);
      if (lostAt === null) node.do({ type: "session_lost", session, begun, ...isIdle });
      else node.do({ type: "session_found", session });
    } else if (what === "move") {
      node.do({ type: "session_suspend", session });
      const anchor = live.incarnations[0]?.anchor ?? null;
      const next = random.pick(sessionNames);
      if (random.chance(0.7)) node.do({ ...begin, session: next, anchor, project: live.project, name: null });
    } else {
      const incarnation = random.chance(0.5) ? null : random.pick(live.incarnations).ordinal;
      node.do({ type: "session_end", session, incarnation, cause: "ended" });
    }
    if (random.chance(0.2)) node.log.pass(random.int(1, limits.suspendMs * 2), this.#own(node));
  }

  /** An agent of the session says what it will change, strikes it off, or writes it. */
  #declare(node: Node, { id: session, agents, project }: Session): void {
    const random = this.#random;
    const actor = { session, agent: random.pick([null, ...agents.keys()]), incarnation: 0 };
    const name = random.pick(fileNames);
    const path = random.chance(0.1) ? `/outside/${name}` : `${project}/${name}`;
    const ref = { file: name, lexical: path, key: `n:${path}`, dir: name === "src" };
    const known = node.log.state.declarations.live.get(noteKey(actor))?.files ?? [];
    const drop = known.some(({ key }) => key === ref.key) && random.chance(0.3);
    const files = [{ ref, ...(drop ? { drop } : { will: random.pick(["", "mend it"]) }) }];
    const said = { ancestors: [], anew: random.chance(0.2), files, uncertainties: [], wallMs: node.log.now };
    if (random.chance(0.7)) node.do({ type: "declare", actor, task: random.pick(["one", "two"]), ...said });
    const written = [{ key: ref.key, file: name, worktree: project, project }];
    const noted = { files: written, by: "shell", ancestors: [], wallMs: 1 } as const;
    if (random.chance(0.5)) node.do({ type: "writes_noted", actor, noted });
  }

  /** The node's own log loses a declaration of which the shared log has heard. */
  #loseDeclaration(node: Node): void {
    const [session] = [...node.told.values()];
    if (session === undefined) return;
    node.loses(() => {
      this.#declare(node, session);
      node.send(...node.rows);
      for (const sent of node.sent.splice(0)) this.#enter(sent);
    });
    this.#begin(node);
  }

  /** A session of the node asks the shared log for something; its rows of the outbox go ahead. */
  #speak(node: Node): void {
    const random = this.#random;
    const told = [...node.told];
    if (told.length === 0) return;
    const [session, { agents }] = random.pick(told);
    const by = { session, agent: random.pick([null, ...agents.keys()]), incarnation: 0 };
    const project = random.pick(projects)[1];
    const plain = { name: null, description: "work", priority: "normal", labels: [], dependsOn: [] } as const;
    const where = { project, wallMs: 1 };
    const say: Command = random.pick([
      { type: "task_create", by, tasks: [plain], many: false, ...where },
      { type: "task_claim", actor: by, task: null, labels: [], cwd: "", ...where },
      { type: "task_claim", actor: by, task: null, labels: [], cwd: "", ...where },
      {
        type: "message_send",
        actor: by,
        to: random.pick(["alice", "Explore"]),
        text: "hi",
        bytes: 2,
        replyTo: null,
        urgent: false,
        ...where,
      },
    ] satisfies Command[]);
    node.send(...node.rows, say);
  }

  /** The next of what the node sent comes into the log, is lost, or is given up and comes at any time. */
  #arrive(node: Node): void {
    const sent = node.sent.shift();
    if (sent === undefined) return;
    if (this.#random.chance(0.1)) this.#late.push(sent);
    else if (!this.#random.chance(0.05)) this.#enter(sent);
  }

  #arriveLate(): void {
    if (this.#late.length === 0) return;
    const [sent] = this.#late.splice(this.#random.int(0, this.#late.length - 1), 1);
    if (sent !== undefined) this.#enter(sent);
  }

  #enter({ node: id, epoch, command }: Sent): void {
    this.#n += 1;
    const speaker = command.type === "task_claim" ? command.actor.session : null;
    const lives = speaker === null || this.shared.state.sessions.live.has(speaker);
    const proposal = { origin: { node: id, epoch, n: this.#n }, command };
    const [reply, isMerge] = this.#merges.enter(this.shared, proposal);
    const how = reply?.ok === false ? reply.code : "ok";
    if (isMerge) this.#count("merge told");
    if (how === "ok" && !lives) throw new Error(`${speaker} has ended, and claims a task`);
    const latest = this.#renewed.get(id) ?? 0;
    if (how === "ok" && epoch < latest) throw new Error(`start ${epoch} of ${id} speaks after ${latest}`);
    if (how === "ok" && command.type === "node_renew") this.#renewed.set(id, epoch);
    this.#count(`${command.type === "relayed" ? command.command.type : command.type} ${how}`);
    const node = this.nodes.find(one => one.id === id);
    if (node === undefined || node.epochs.shared !== epoch) return;
    // Any other refusal would come again.
    const isHeard = !["outbox_gap", "unknown_node", "node_twice"].includes(how);
    if (command.type === "relayed" && isHeard && !this.#random.chance(0.2))
      node.do({ type: "outbox_sent", node: id, last: command.number });
    // Its daemon renews the lease at once, before all that it sent meanwhile.
    if (how === "unknown_node" && node.sent[0]?.command.type !== "node_renew") {
      this.#renew(node);
      node.sent.unshift(...node.sent.splice(-1));
    }
    if (command.type === "node_renew" && reply?.ok === true) {
      const relayed = reply["relayed"] as OutboxNumber;
      const isBehind = isAfter(relayed, node.log.state.outbox.last);
      if (isBehind) this.#count("node_renew behind");
      if (isBehind || reply["isNew"] === true) node.do({ type: "sharing_set", node: id, projects, relayed });
    }
  }

  #count(key: string): void {
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
  }

  #renew(node: Node): void {
    const { id } = node;
    node.send({
      type: "node_renew",
      machine: id,
      binding: id,
      levels: { from: 1, to: rulesLevel },
      wallMs: 1,
    });
  }

  /** The daemon of the node is killed, its machine loses power, or its home is put back; another one starts. */
  #restart(node: Node): void {
    // It leaves, and joins again.
    if (this.#random.chance(0.1)) node.send({ type: "node_leave" });
    for (const sent of node.sent.splice(0)) if (this.#random.chance(0.5)) this.#late.push(sent);
    if (this.#random.chance(0.35)) node.restore();
    else if (this.#random.chance(0.4)) node.powerCut(this.#random);
    this.#begin(node);
  }

  #begin(node: Node): void {
    // Of two homes that are put back while the clock is wrong, nobody can tell the second one from the first.
    const isBehind = !node.isBehind && this.#random.chance(0.1);
    node.start(this.#random.int(100, 100_000), isBehind ? 1_000_000 : 0);
    this.#join(node);
  }

  #join(node: Node): void {
    this.#epoch += 1;
    node.epochs.shared = this.#epoch;
    node.send({ type: "daemon_started", epoch: this.#epoch, storeId: "store" });
    this.#renew(node);
    node.send(...node.rows);
  }

  #silence(): void {
    const [first] = this.nodes;
    if (first === undefined) return;
    const ms = this.#random.pick([
      1_000,
      limits.nodeAwayMs,
      limits.nodeLostMs,
      limits.lostMs + limits.nodeLostMs,
    ]);
    this.shared.pass(ms, { node: first.id, epoch: first.epochs.shared, n: 0 });
  }

  /** Everything arrives. What was given up may come first, in between, or last. */
  #settle(): void {
    for (let round = 0; round < 1_000; round += 1) {
      for (const node of this.nodes) {
        this.#renew(node);
        node.send(...node.rows);
        for (const sent of node.sent.splice(0)) {
          while (this.#random.chance(0.5)) this.#arriveLate();
          this.#enter(sent);
        }
      }
      const isDone = this.nodes.every(({ log }) => log.state.outbox.rows.size === 0);
      if (isDone && this.#late.length === 0) return;
    }
    throw new Error("the outboxes do not become empty");
  }

  #own(node: Node): Proposal["origin"] {
    return { node: "local", epoch: node.epochs.own, n: 0 };
  }

  /** Whether the shared log has what the outboxes say: no node waits for a number that the log has. */
  *outboxes(): Generator<string> {
    for (const { id, log } of this.nodes) {
      const relayed = this.shared.state.leases.all.get(id)?.relayed;
      if (relayed === undefined || isAfter(relayed, log.state.outbox.last))
        yield `the shared log has a number of ${id} that its outbox never gave`;
    }
  }
}
