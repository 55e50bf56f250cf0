import type { AgentImage } from './words.ts';

/** What a model gets for a call. */
export interface AgentReply {
  text: string;
  isError: boolean;
  images: AgentImage[];
  /** Whether the call goes on; its result then comes as a notice. */
  background: boolean;
}

/** Words of this side. */
export function reply(text: string, more: Partial<AgentReply> = {}): AgentReply {
  return { text, isError: false, images: [], background: false, ...more };
}
