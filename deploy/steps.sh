#!/bin/sh
# The steps of the Dockerfile without Docker, and the result tried: deploy/steps.ts says how.
cd "$(dirname "$0")/.." && exec node_modules/.bin/node deploy/steps.ts
