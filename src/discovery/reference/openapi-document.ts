/** As much of OpenAPI as the reference reads. */
import type { Schema } from './schemas.ts';

export type Body = { schema: Schema; examples?: Record<string, { value: unknown }> };

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: {
    name: string;
    in: string;
    required: boolean;
    description: string;
    schema: Schema;
    example?: string;
  }[];
  requestBody?: { content: Record<string, Body> };
  responses: Record<string, { description: string; content?: Record<string, Body> }>;
};

/** As much of an OpenAPI document as is shown. */
export type OpenapiDocument = {
  info: { description: string; version: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema> };
};
