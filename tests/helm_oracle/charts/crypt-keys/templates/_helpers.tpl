{{- define "hub.kept" -}}
{{- $found := (lookup "v1" "Secret" .root.Release.Namespace "hub").data | default dict -}}
{{- if hasKey $found .key -}}
{{- index $found .key -}}
{{- else -}}
{{- randAlphaNum 64 | lower | b64enc -}}
{{- end -}}
{{- end -}}
