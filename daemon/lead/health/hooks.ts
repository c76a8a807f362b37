/** Signs of life go to the watch of agents' health, and what it found goes to those who lead them. */
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";
import { leadsAtWork } from "./led-at-work.ts";

export const healthPart: HookPart<LeadServices> = {
  changed: ({ health }, { session, agent }) => health.sign(session, agent),
  waitsFor: (services, session) => ({
    isAtWork: leadsAtWork(services, session),
    hasAlarm: () => services.healthNotes.hasAlarm({ session, agent: null }),
  }),
  news: ({ healthNotes }, reader, delivery) => healthNotes.offer(reader, delivery),
  sessionGone: ({ health }, session) => health.forget(session),
  processStopped: ({ health }, session, isStopped) => health.stopped(session, isStopped),
};
