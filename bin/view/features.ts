/** The features that show something of agents, of both halves. */
import { leadEvents } from "../lead/view/events.ts";
import { health, returns, roles, spawns } from "../lead/view/features.ts";
import { type AgentFeature, attention } from "./feature.ts";

export const features: readonly AgentFeature[] = [health, roles, spawns, attention, returns, leadEvents];
