"""What a project needs on the platform before its first push: namespaces, rights, secrets, webhook, protections."""
