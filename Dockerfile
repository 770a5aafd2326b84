# syntax=docker/dockerfile:1
FROM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build && rm -rf dist/test dist/bench && find dist -name '*.map' -delete && npm prune --omit=dev

FROM node:24-slim
LABEL org.opencontainers.image.title="kubelevel" org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY --from=build /src/openapi/data ./openapi/data
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 6443
# The certificate is the server's own: what is checked here is that it answers, not who it is.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["node", "-e", "require('https').get({host:'127.0.0.1',port:6443,path:'/livez',rejectUnauthorized:false},r=>process.exit(r.statusCode===200?0:1)).on('error',()=>process.exit(1))"]
ENTRYPOINT ["node", "dist/bundle/main.js"]
CMD ["serve", "--bind-address=0.0.0.0", "--data-dir=/data"]
