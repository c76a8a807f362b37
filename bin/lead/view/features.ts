/** What the leading half shows of agents: how they are, their roles, who spawned them, and merges that came back. */
import { personName } from "../../../protocol/names.ts";
import { shellArgument } from "../../../protocol/text.ts";
import type { AgentFeature } from "../../view/feature.ts";
import { clean } from "../../view/text.ts";
import { unreadText } from "./came-back.ts";
import { healthAdvice, healthText, needsLook, troubleOf } from "./health.ts";
import { sourceText } from "./roles.ts";

export const health: AgentFeature = {
  trouble: agent => troubleOf(agent.health),
  needsPerson: agent => needsLook(agent.health),
  advice: (agent, name, session) =>
    healthAdvice(agent.health, name, session.pid, agent === session && session.spawn !== undefined),
  life: agent => (agent.health === undefined ? null : healthText(agent.health)),
};

/** The agent's role, with who gave it, unless it is the default one. */
export const roles: AgentFeature = {
  leads: agent => agent.role?.role === "lead",
  fields: (_session, agent) => [
    ["role", agent?.role === undefined ? null : `${agent.role.role}, ${sourceText(agent.role.by)}`],
  ],
};

export const spawns: AgentFeature = {
  opens: ({ name, spawn }) =>
    spawn === undefined ? null : `kite agents attach ${shellArgument(clean(name))}`,
  origin: ({ spawn }) => (typeof spawn?.parent === "string" ? [`spawned by ${clean(spawn.parent)}`] : []),
  fields: ({ spawn }) => [["spawned by", spawn === undefined ? null : (spawn.parent ?? personName())]],
};

/** Merges that came back, and that the main agent has not read of. */
export const returns: AgentFeature = {
  isShown: ({ cameBack }) => cameBack !== undefined,
  advice: (agent, _name, session) =>
    agent !== session || session.cameBack === undefined
      ? []
      : [unreadText(session.cameBack.unread, session.spawn !== undefined)],
  fields: (session, agent) => {
    const { cameBack, spawn } = session;
    if (agent !== session || cameBack === undefined) return [];
    const { merge, branch, base, unread } = cameBack;
    const why = unreadText(unread, spawn !== undefined);
    return [["merge", `${branch} was not merged into ${base} (${merge}): ${why}`]];
  },
};
