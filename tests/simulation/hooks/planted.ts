/** Bugs between a hook's event and the log that the simulation of hooks has to find. */
import type { Planted } from "../planted.ts";

const inHooks: readonly Omit<Planted, "hooks">[] = [
  {
    bug: "a Stop that leaves the turn's locks",
    file: "hooks/plans/plan-parts.ts",
    find: '  return [{ do: "turn_end", ...actor }, heartbeat(actor, { active: false,',
    put: "  return [heartbeat(actor, { active: false,",
    tells: /is still held by|stays in flight/,
  },
  {
    bug: "a prompt that leaves what an interrupted turn had in flight",
    file: "hooks/plans/turn-events.ts",
    find: "prompt === null ? [] : [{ do:",
    put: "prompt !== null ? [] : [{ do:",
    tells: /stays in flight/,
  },
  {
    bug: "a PostToolUse that ends no write",
    file: "hooks/claude-code/rows.ts",
    find: "...flightEnd(event, actor, cwd, toolUseId),\n    wrote,",
    put: '...flightEnd(event, actor, cwd, toolUseId + "-"),\n    wrote,',
    tells: /stays in flight/,
  },
  {
    bug: "a write that is not recorded",
    file: "daemon/hooks/edits/write-actions.ts",
    find: 'return propose(event, "flight_end", { ...end, noted });',
    put: 'return propose(event, "flight_end", end);',
    tells: /the write of .* is not known/,
  },
  {
    bug: "an edit whose lock does not know its write",
    file: "daemon/hooks/edits/edit-lock.ts",
    find: "placeMs, prompt, flight, yieldMs",
    put: "placeMs, prompt, flight: null, yieldMs",
    and: { find: "toolUseId: flight, ", put: "" },
    tells: /was let edit/,
  },
  {
    bug: "a wait that goes on when its hook is gone",
    file: "daemon/hooks/edits/edit-lock.ts",
    find: "    this.#drop(pending);\n    if (pending.n !== unasked) this.#services.engine.abandon(pending.n);\n",
    put: "    this.#drop(pending);\n",
    tells: /stays in flight/,
  },
  {
    bug: "a refused edit that runs",
    file: "hooks/plans/answers/lock.ts",
    find: "? deny(refusedText(edit, refused))",
    put: "? nothing",
    tells: /was let edit/,
  },
  {
    bug: "a write over lines that its agent has not read",
    file: "daemon/hooks/verdict.ts",
    find: "if (unseen !== null || (changed",
    put: "if (unseen === undefined || (changed",
    tells: /was let write .* over what/,
  },
  {
    bug: "a part of a file that counts as all of it",
    file: "daemon/hooks/edits/edit.ts",
    find: "      seenWrites.changesPart(engine.state, actor, file.key);\n",
    put: "",
    tells: /was let write .* over what/,
  },
  {
    bug: "a heartbeat that says nothing of the turn",
    file: "daemon/hooks/sessions.ts",
    find: "  if (active !== undefined) presence.turn(session, agent, active, failed);\n",
    put: "",
    tells: /and the daemon says/,
  },
  {
    bug: "a subagent whose health is not watched",
    file: "daemon/lead/health.ts",
    find: "    changed: ({ session, agent }) => health.sign(session, agent),\n",
    put: "    changed: ({ session }) => health.sign(session, null),\n",
    tells: /keeps what it has/,
  },
  {
    bug: "a stalled agent that keeps what it has",
    file: "daemon/lead/health-watch.ts",
    find: "      giveBack(services, whose, cause);\n",
    put: "",
    tells: /keeps what it has/,
  },
  {
    bug: "a main agent that loses what it has while it waits for its subagent",
    file: "daemon/lead/columns.ts",
    find: 'tool: helpers === null ? "none" :',
    put: 'tool: helpers !== undefined ? "none" :',
    tells: /lost what it had/,
  },
  {
    bug: "an agent that loses what it has while a dialog is open",
    file: "daemon/core/lead/health.ts",
    find: "if (waits !== null) return",
    put: "if (waits === undefined) return",
    tells: /lost what it had/,
  },
  {
    bug: "a tool at work that does not count beside stalled subagents",
    file: "daemon/lead/health-watch.ts",
    find: '(ofAgents === "called" && own !== "none")',
    put: '(ofAgents === "called" && own === "unknown")',
    tells: /lost what it had although/,
  },
];

export const plantedInHooks: readonly Planted[] = inHooks.map(bug => ({ ...bug, hooks: true }));
